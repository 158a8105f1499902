// array_bytes() computes the bytes of an array from its descriptor, since the call that creates it
// names no size.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "allocator/base/place.h"
#include "interpose/table/functions.h"

namespace vramscope {

// Returns the bytes of an array's elements; 0 if memory is mapped into it later (sparse arrays,
// deferred mapping). The driver's layout may take more; it reports sizes only for the latter.
[[nodiscard]] std::size_t array_bytes(const CUDA_ARRAY_DESCRIPTOR_v1& array) noexcept;
[[nodiscard]] std::size_t array_bytes(const CUDA_ARRAY_DESCRIPTOR& array) noexcept;
[[nodiscard]] std::size_t array_bytes(const CUDA_ARRAY3D_DESCRIPTOR_v1& array) noexcept;
[[nodiscard]] std::size_t array_bytes(const CUDA_ARRAY3D_DESCRIPTOR& array,
                                      unsigned int levels = 1) noexcept;

}  // namespace vramscope
