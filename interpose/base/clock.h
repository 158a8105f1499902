// The clock of all recorded times: the processor's counter if it can be trusted, else the kernel's
// clock.
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

// Nanoseconds since the epoch, for dates.
inline std::uint64_t wall_time_ns() noexcept { return read_clock_ns(CLOCK_REALTIME); }

// Reads the processor's counter: the time stamp of x86-64, the virtual count of aarch64.
inline std::uint64_t read_counter() noexcept {
#ifdef __aarch64__
  std::uint64_t ticks = 0;
  __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#else
  return __rdtsc();
#endif
}

// Converts the counter to CLOCK_MONOTONIC. On x86-64 a reading takes 8 ns instead of 21.
struct CounterClock {
  std::atomic<bool> ready{false};  // the other members are set and do not change any more
  std::uint64_t ticks = 0;         // the counter ...
  std::uint64_t ns = 0;            // ... at this time
  std::uint64_t ns_per_tick = 0;   // 32 bits behind the point
};
extern constinit CounterClock counter_clock;

// Makes the counter the clock some milliseconds from now, when its rate is known. Does nothing if
// the kernel does not trust the counter or the processor does not promise a constant rate. Only the
// first call has an effect. Threads: any.
void start_counter_clock() noexcept;

// now_ns() by the kernel's clock. The first call that comes late enough sets the counter's rate.
[[nodiscard]] std::uint64_t kernel_now_ns() noexcept;

// Returns CLOCK_MONOTONIC in nanoseconds, exact to about one part in 100,000, for durations.
// Threads: any.
inline std::uint64_t now_ns() noexcept {
  if (!counter_clock.ready.load(std::memory_order_acquire)) [[unlikely]]
    return kernel_now_ns();
  __extension__ using Wide = unsigned __int128;
  const std::uint64_t ticks = read_counter() - counter_clock.ticks;
  return counter_clock.ns +
         static_cast<std::uint64_t>(Wide{ticks} * counter_clock.ns_per_tick >> 32);
}

// Converts an instant from now_ns() to nanoseconds since the epoch, as exactly as the two clocks
// can be read together.
[[nodiscard]] std::uint64_t wall_time_at(std::uint64_t instant_ns) noexcept;

// Returns the nanoseconds since now_ns() returned `start`, at least 0. A change of clocks in
// between can cost some ns.
inline std::uint64_t elapsed_ns(std::uint64_t start) noexcept {
  const std::uint64_t now = now_ns();
  return now > start ? now - start : 0;
}

}  // namespace vramscope
