// Savings estimates what the cache saved: calls of the driver, and their time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "reporter/ground/facts.h"

namespace vramscope {

struct DeviceReport;
struct Report;

// The estimate assumes that what the cache served would have taken as long as calls that went to
// the driver, between the first and the third quartile of these, so that the far longer first calls
// of a process do not count. Frees are included if enough of them went to the driver. The cache's
// own time is subtracted. The range ends at the length of the run: nothing longer was measured, and
// a few measured calls support no estimate beyond it.
struct Savings {
  std::uint64_t allocations = 0;
  std::uint64_t hits = 0;
  std::uint64_t kept_frees = 0;    // frees that gave nothing back to the driver
  std::uint64_t driver_calls = 0;  // allocations and frees that were not made
  std::uint64_t least_ns = 0;
  std::uint64_t most_ns = 0;
  bool is_cut = false;     // least_ns is the whole run: the saving may be larger
  bool estimated = false;  // false: too few calls went to the driver for a comparison
};
// run_ns: length of the run; 0: not known.
[[nodiscard]] Savings savings(const Timing& timing, std::uint64_t run_ns = 0);
[[nodiscard]] Savings device_savings(const Report& report, const DeviceReport& device);

// Estimates the saving for pinned memory. The host's times include registrations, which no cache
// can serve. The time of the registering functions is subtracted, so the estimate is rather too
// low.
[[nodiscard]] Savings pinned_savings(const Report& report);
// Returns the driver's time for pinned allocations, as used in pinned_savings().
[[nodiscard]] Duration pinned_driver_time(const Report& report);

}  // namespace vramscope
