// Savings says what serving allocations from the cache saved: calls of the driver, and their time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "reporter/ground/facts.h"

namespace vramscope {

struct DeviceReport;
struct Report;

// Times are estimates: what the cache served would have taken as long as calls that did go to the
// driver, between the first and the third quartile of these, so that the first calls of a process,
// which take far longer, do not count; frees among it where enough of them went to the driver.
// What the cache itself took is taken off. The range ends where the run does: nothing longer was
// measured, and few measured calls bear no estimate beyond it.
struct Savings {
  std::uint64_t allocations = 0;
  std::uint64_t hits = 0;
  std::uint64_t kept_frees = 0;    // which gave nothing back to the driver
  std::uint64_t driver_calls = 0;  // not made: allocations and frees
  std::uint64_t least_ns = 0;
  std::uint64_t most_ns = 0;
  bool is_cut = false;     // least_ns is the whole run: it may have been more
  bool estimated = false;  // false: too few calls went to the driver to compare with
};
// run_ns: the run took so long; 0: not known.
[[nodiscard]] Savings savings(const Timing& timing, std::uint64_t run_ns = 0);
[[nodiscard]] Savings device_savings(const Report& report, const DeviceReport& device);

// The same for pinned memory. The host's times hold registrations too, which no cache can serve:
// what the functions that register took is taken off, so the estimate is rather too low.
[[nodiscard]] Savings pinned_savings(const Report& report);
// The driver's time for pinned allocations, as used there.
[[nodiscard]] Duration pinned_driver_time(const Report& report);

}  // namespace vramscope
