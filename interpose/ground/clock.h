// The clock of all recorded times: the processor's counter where it can be trusted, else the
// kernel's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#ifndef __aarch64__
#include <x86intrin.h>
#endif

#include <ctime>

#include <atomic>
#include <cstdint>

namespace vramscope {

inline std::uint64_t read_clock_ns(clockid_t clock) noexcept {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(now.tv_nsec);
}

// Since the epoch: for dates.
inline std::uint64_t wall_time_ns() noexcept { return read_clock_ns(CLOCK_REALTIME); }

// The processor's own counter: what x86-64 calls its time stamp, aarch64 its virtual count.
inline std::uint64_t read_counter() noexcept {
#ifdef __aarch64__
  std::uint64_t ticks = 0;
  __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#else
  return __rdtsc();
#endif
}

// That counter in the units of CLOCK_MONOTONIC: on x86-64 8 ns a reading instead of 21.
struct CounterClock {
  std::atomic<bool> ready{false};  // the others are set and change no more
  std::uint64_t ticks = 0;         // the counter ...
  std::uint64_t ns = 0;            // ... at this time
  std::uint64_t ns_per_tick = 0;   // 32 bits behind the point
};
extern constinit CounterClock counter_clock;

// Takes the counter as the clock, some milliseconds from now, when it is known how fast it counts;
// never where the kernel itself does not trust it or the processor does not promise a constant
// rate. Only the first call counts. Threads: any.
void start_counter_clock() noexcept;

// now_ns() by the kernel; the first call that comes late enough sets the counter's rate.
[[nodiscard]] std::uint64_t kernel_now_ns() noexcept;

// CLOCK_MONOTONIC, to about one part in 100,000: for durations. Threads: any.
inline std::uint64_t now_ns() noexcept {
  if (!counter_clock.ready.load(std::memory_order_acquire)) [[unlikely]]
    return kernel_now_ns();
  __extension__ using Wide = unsigned __int128;
  const std::uint64_t ticks = read_counter() - counter_clock.ticks;
  return counter_clock.ns +
         static_cast<std::uint64_t>(Wide{ticks} * counter_clock.ns_per_tick >> 32);
}

// The date of an instant that now_ns() gave: as near as the two clocks can be read together.
[[nodiscard]] std::uint64_t wall_time_at(std::uint64_t instant_ns) noexcept;

// Since now_ns() gave `start`. The change of clocks between the two may cost some ns: never below
// 0.
inline std::uint64_t elapsed_ns(std::uint64_t start) noexcept {
  const std::uint64_t now = now_ns();
  return now > start ? now - start : 0;
}

}  // namespace vramscope
