// Capacity checks make a device seem as small as --device-memory-limit says: they refuse requests
// and change what the program reads.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "interpose/routes/routes.h"

namespace vramscope {

// Adds a warning to the report that a request met the device's capacity.
void warn_of_capacity(Profiler& profiler, std::uint16_t device) noexcept;

// Makes the call. If the driver has no memory for it, gives our idle memory on `device` back, or,
// if there is none, that on another device, and makes the call once more. Not during a capture. For
// calls that change nothing if they are refused.
[[nodiscard]] CUresult ask_twice(Call& call, const DirectCall& direct,
                                 std::uint16_t device) noexcept;

}  // namespace vramscope
