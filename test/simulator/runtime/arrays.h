// How the small runtime describes the elements of arrays and textures to the driver.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "test/simulator/runtime/runtime.h"

namespace cudart {

// The driver's description of elements.
struct ElementFormat {
  CUarray_format format;
  unsigned channels;

  [[nodiscard]] std::size_t bytes() const;
};

// Returns false for elements that are not plain: three channels, mixed widths, formats with planes
// or blocks.
[[nodiscard]] bool read(const cudaChannelFormatDesc& from, ElementFormat& to);
[[nodiscard]] cudaChannelFormatDesc described(const ElementFormat& element);
[[nodiscard]] cudaError_t describe(cudaArray_const_t array, CUDA_ARRAY3D_DESCRIPTOR& descriptor);

// Returns the driver's handle, which is the runtime's array.
[[nodiscard]] inline CUarray handle_of(cudaArray_const_t array) {
  return reinterpret_cast<CUarray>(const_cast<cudaArray_t>(array));
}

}  // namespace cudart
