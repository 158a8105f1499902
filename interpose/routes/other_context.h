// Asking the driver about a device whose context need not be current, and what is still used after
// memory was released that others may have open.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "interpose/driver/profiler.h"

namespace vramscope::routes {

// A context on the device, unseen: none.
[[nodiscard]] Contexts::Generation context_on(Profiler& profiler, std::uint16_t device) noexcept;

// What is used of the device and not recorded, asked now in `one` of its contexts. Nothing while a
// stream is captured, nor when the context ends meanwhile.
[[nodiscard]] std::optional<std::uint64_t> unrecorded_now(Profiler& profiler, std::uint16_t device,
                                                          Contexts::Generation one) noexcept;

// Around the end of exported memory on a device: what is not free after it, an importer has open
// (openucx/ucx#11753). Asks the driver twice.
class ReleaseOfExported {
 public:
  ReleaseOfExported(Profiler& profiler, std::uint16_t device) noexcept
      : profiler_(profiler),
        device_(device),
        before_(unrecorded_now(profiler, device, context_on(profiler, device))) {}
  // The driver and the allocator have released so many bytes.
  void happened(std::uint64_t bytes) const noexcept;

 private:
  Profiler& profiler_;
  const std::uint16_t device_;
  const std::optional<std::uint64_t> before_;
};

}  // namespace vramscope::routes
