// Savings estimates what the cache saved: calls of the driver, and their time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "reporter/base/facts.h"

namespace vramscope {

struct DeviceReport;
struct Report;

// The estimate assumes that what the cache served would have taken as long as calls that went to
// the driver: at least as long as the fastest of these, and at most as long as their third
// quartile, so that the far longer first calls of a process do not count. Frees are included if
// enough of them went to the driver. The cache's own time is subtracted. A few measured calls
// support no estimate beyond the length of the run: only the least is known then. Sums of several
// processes have no estimate, because the first calls of many look like usual ones.
struct Savings {
  std::uint64_t allocations = 0;
  std::uint64_t hits = 0;
  std::uint64_t kept_frees = 0;        // frees that gave nothing back to the driver at once
  std::uint64_t given_back_later = 0;  // segments that the cache gave back apart from frees
  // Allocations and frees that were not made; nothing: not known.
  std::optional<std::uint64_t> driver_calls = {};
  std::uint64_t least_ns = 0;
  std::uint64_t most_ns = 0;
  std::uint64_t spared_frees = 0;  // kept frees whose memory did not go back later
  bool has_frees = false;          // the time of these is in the estimate
  bool is_cut = false;             // by the length of the run: the saving may be larger
  bool estimated = false;  // false: too few calls went to the driver for a comparison, or a sum
};
[[nodiscard]] Savings device_savings(const Report& report, const DeviceReport& device);

// Estimates the saving for pinned memory. The host's times include registrations, which no cache
// can serve. The time of the registering functions is subtracted, so the estimate is rather too
// low.
[[nodiscard]] Savings pinned_savings(const Report& report);
// Returns the driver's time for pinned allocations, as used in pinned_savings().
[[nodiscard]] Duration pinned_driver_time(const Report& report);

}  // namespace vramscope
