// Asks the driver about a device whose context need not be current, and measures what stays used
// after exported memory was released.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "interpose/driver/profiler.h"

namespace vramscope::routes {

// Returns a context on the device, or `unseen`.
[[nodiscard]] Contexts::Generation context_on(Profiler& profiler, std::uint16_t device) noexcept;

// Returns the bytes of the device that are used and not recorded, asked now in context `one`.
// Returns nothing while a stream is captured, or if the context ends meanwhile.
[[nodiscard]] std::optional<std::uint64_t> unrecorded_now(Profiler& profiler, std::uint16_t device,
                                                          Contexts::Generation one) noexcept;

// Surrounds the release of exported memory on a device. Memory that is not free afterwards is open
// in an importer (openucx/ucx#11753). Asks the driver twice.
class ReleaseOfExported {
 public:
  ReleaseOfExported(Profiler& profiler, std::uint16_t device) noexcept
      : profiler_(profiler),
        device_(device),
        before_(unrecorded_now(profiler, device, context_on(profiler, device))) {}
  // Notes that the driver and the allocator have released `bytes`.
  void happened(std::uint64_t bytes) const noexcept;

 private:
  Profiler& profiler_;
  const std::uint16_t device_;
  const std::optional<std::uint64_t> before_;
};

}  // namespace vramscope::routes
