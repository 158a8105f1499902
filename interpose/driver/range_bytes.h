// The size of memory that only the driver knows, asked by its address.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "interpose/table/functions.h"

namespace vramscope {

// Size of the allocation around `address`; 0 when the driver does not tell.
[[nodiscard]] std::size_t range_bytes(CUdeviceptr address) noexcept;

}  // namespace vramscope
