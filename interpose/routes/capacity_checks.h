// A device that seems smaller: what the program is refused and told because of it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "interpose/routes/routes.h"

namespace vramscope {

// A request met the device's limit: a warning in the report.
void note_limit_met(Profiler& profiler, std::uint16_t device) noexcept;

// What cuMemGetInfo says of a device, cut to its limit. Either may be null. `free` counts what we
// would give back at once.
void cut_to_limit(Profiler& profiler, std::uint16_t device, std::size_t* free,
                  std::size_t* total) noexcept;

}  // namespace vramscope
