// The one clock of recorded times.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ctime>

#include <cstdint>

namespace vramscope {

inline std::uint64_t read_clock_ns(clockid_t clock) noexcept {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(now.tv_nsec);
}

// CLOCK_MONOTONIC: for durations.
inline std::uint64_t now_ns() noexcept { return read_clock_ns(CLOCK_MONOTONIC); }
// Since the epoch: for dates.
inline std::uint64_t wall_time_ns() noexcept { return read_clock_ns(CLOCK_REALTIME); }

}  // namespace vramscope
