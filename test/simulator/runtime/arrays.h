// The small runtime: how it says the elements of arrays and textures to the driver.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "test/simulator/runtime/runtime.h"

namespace cudart {

// Elements as the driver names them.
struct ElementFormat {
  CUarray_format format;
  unsigned channels;

  [[nodiscard]] std::size_t bytes() const;
};

// False for what is no plain element: three channels, mixed widths, formats with planes or blocks.
[[nodiscard]] bool read(const cudaChannelFormatDesc& from, ElementFormat& to);
[[nodiscard]] cudaChannelFormatDesc described(const ElementFormat& element);
[[nodiscard]] cudaError_t describe(cudaArray_const_t array, CUDA_ARRAY3D_DESCRIPTOR& descriptor);

// An array of the runtime is the driver's.
[[nodiscard]] inline CUarray handle_of(cudaArray_const_t array) {
  return reinterpret_cast<CUarray>(const_cast<cudaArray_t>(array));
}

}  // namespace cudart
