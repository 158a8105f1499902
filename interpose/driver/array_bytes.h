// The bytes of an array, computed from its descriptor, since the call that creates it names none.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "allocator/ground/place.h"
#include "interpose/table/functions.h"

namespace vramscope {

// What the elements of an array take, by its descriptor; 0 when memory is mapped into it afterwards
// (sparse arrays, deferred mapping). The driver tells sizes of the latter only, and its own layout
// may take more.
[[nodiscard]] std::size_t array_bytes(const CUDA_ARRAY_DESCRIPTOR_v1& array) noexcept;
[[nodiscard]] std::size_t array_bytes(const CUDA_ARRAY_DESCRIPTOR& array) noexcept;
[[nodiscard]] std::size_t array_bytes(const CUDA_ARRAY3D_DESCRIPTOR_v1& array) noexcept;
[[nodiscard]] std::size_t array_bytes(const CUDA_ARRAY3D_DESCRIPTOR& array,
                                      unsigned int levels = 1) noexcept;

}  // namespace vramscope
