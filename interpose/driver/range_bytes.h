// range_bytes() asks the driver for the size of memory that only it knows.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "interpose/table/functions.h"

namespace vramscope {

// Returns the bytes of the allocation around `address`; 0 if the driver does not say.
[[nodiscard]] std::size_t range_bytes(CUdeviceptr address) noexcept;

}  // namespace vramscope
