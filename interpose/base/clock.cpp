// SPDX-License-Identifier: Apache-2.0
#include "interpose/base/clock.h"

#ifndef __aarch64__
#include <cpuid.h>
#endif
#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstring>
#include <string_view>

#include "allocator/base/kept_errno.h"

namespace vramscope {

constinit CounterClock counter_clock;

namespace {

// Both ends are exact to some 20 ns, which is one part in 500,000.
constexpr std::uint64_t kWindowNs = 20'000'000;

struct Moment {
  std::uint64_t ticks = 0;
  std::uint64_t ns = 0;  // by another clock
};
Moment first;
constinit std::atomic_flag started;
constinit std::atomic<bool> measuring{false};  // `first` is set and the rate is unknown

// Returns the best of a few readings, since one may be interrupted between the two clocks. `ticks`
// belongs to the first clock.
template <class First, class Second>
Moment read_together(First first_clock, Second second_clock) noexcept {
  Moment best;
  std::uint64_t shortest = ~std::uint64_t{0};
  for (int i = 0; i < 5; ++i) {
    const std::uint64_t before = first_clock();
    const std::uint64_t ns = second_clock();
    const std::uint64_t took = first_clock() - before;
    if (took >= shortest) continue;
    shortest = took;
    best = {before + took / 2, ns};
  }
  return best;
}

Moment read_both_clocks() noexcept {
  return read_together(read_counter, [] { return read_clock_ns(CLOCK_MONOTONIC); });
}

#ifdef __aarch64__
// Arm's manual, D11: the counter has a constant rate. If a process may not read it, the kernel
// emulates the instruction.
constexpr std::string_view kTrusted = "arch_sys_counter\n";

bool can_be_a_clock() noexcept { return true; }
#else
constexpr std::string_view kTrusted = "tsc\n";

// Intel's manual, volume 3, 18.17.1: constant in all states of the processor.
bool has_constant_rate() noexcept {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(0x80000007U, &a, &b, &c, &d) != 0 && (d & (1U << 8)) != 0;
}

// Reading the counter can be forbidden (PR_SET_TSC); it would end the process.
bool may_be_read() noexcept {
  int allowed = 0;
  return prctl(PR_GET_TSC, &allowed) == 0 && allowed == PR_TSC_ENABLE;
}

bool can_be_a_clock() noexcept { return has_constant_rate() && may_be_read(); }
#endif

// The kernel uses another clock if the counters of the processors disagree.
bool is_trusted_by_kernel() noexcept {
  const int file = open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
                        O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  char name[32] = {};
  const ssize_t length = ::read(file, name, sizeof name - 1);
  close(file);
  return length > 0 && std::string_view(name) == kTrusted;
}

}  // namespace

void start_counter_clock() noexcept {
  if (started.test_and_set()) return;
  const KeptErrno kept;
  if (can_be_a_clock() && is_trusted_by_kernel()) {
    first = read_both_clocks();
    measuring.store(true, std::memory_order_release);
  }
}

std::uint64_t kernel_now_ns() noexcept {
  const std::uint64_t now = read_clock_ns(CLOCK_MONOTONIC);
  if (!measuring.load(std::memory_order_acquire) || now - first.ns < kWindowNs) return now;
  if (!measuring.exchange(false, std::memory_order_acq_rel)) return now;
  const Moment second = read_both_clocks();
  if (second.ticks <= first.ticks || second.ns <= first.ns) return now;
  __extension__ using Wide = unsigned __int128;
  counter_clock.ns_per_tick =
      static_cast<std::uint64_t>((Wide{second.ns - first.ns} << 32) / (second.ticks - first.ticks));
  counter_clock.ticks = second.ticks;
  counter_clock.ns = second.ns;
  counter_clock.ready.store(true, std::memory_order_release);
  return now;
}

std::uint64_t wall_time_at(std::uint64_t instant_ns) noexcept {
  const Moment now = read_together(now_ns, wall_time_ns);
  return now.ns - (now.ticks - instant_ns);
}

}  // namespace vramscope
