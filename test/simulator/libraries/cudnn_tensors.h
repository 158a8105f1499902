// What a descriptor of a tensor in the stand-in for cuDNN was given.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "test/simulator/libraries/stand_in.h"

namespace vramscope::simulator {

constexpr int kMostDimensions = 8;  // CUDNN_DIM_MAX

// Kept inside the descriptor, which is opaque to all others.
struct Tensor {
  int type;
  int rank;
  int lengths[kMostDimensions];
  int strides[kMostDimensions];
};
static_assert(sizeof(Tensor) <= sizeof(Opaque));

// Bytes of one element of a cudnnDataType_t; 0: none is known.
[[nodiscard]] std::size_t element_bytes(int type);

[[nodiscard]] Tensor tensor_of(const Opaque& descriptor);
void keep_tensor(Opaque& descriptor, const Tensor& tensor);
// With the strides of rows that follow each other.
[[nodiscard]] Tensor packed(int type, int rank, const int* lengths);

}  // namespace vramscope::simulator
