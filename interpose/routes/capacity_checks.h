// Capacity checks make a device seem as small as --device-memory-limit says: what the program is
// refused, and what it reads, because of it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "interpose/routes/routes.h"

namespace vramscope {

// A request met the device's capacity: a warning in the report.
void warn_of_capacity(Profiler& profiler, std::uint16_t device) noexcept;

// The call itself; when the driver has no memory for it, what lies idle with us on `device` goes
// back, or if that is nothing on another one, and it is asked once more. Not during a capture. For
// calls that change nothing when they are refused.
[[nodiscard]] CUresult ask_twice(Call& call, const DirectCall& direct,
                                 std::uint16_t device) noexcept;

// What cuMemGetInfo says of a device, cut to its capacity. Either may be null. `free` counts what
// we would give back at once.
void cut_to_capacity(Profiler& profiler, std::uint16_t device, std::size_t* free,
                     std::size_t* total) noexcept;

}  // namespace vramscope
