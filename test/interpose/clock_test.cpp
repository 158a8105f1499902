// The clock of recorded times against the kernel's.
// SPDX-License-Identifier: Apache-2.0
#include "interpose/base/clock.h"

#include <gtest/gtest.h>

namespace vramscope {
namespace {

constexpr std::uint64_t kFarNs = 100'000'000;

// What now_ns() said, and between which times of the kernel.
struct Look {
  std::uint64_t before, said, after;
};

Look look() {
  Look found{};
  found.before = read_clock_ns(CLOCK_MONOTONIC);
  found.said = now_ns();
  found.after = read_clock_ns(CLOCK_MONOTONIC);
  return found;
}

Look look_after(std::uint64_t ns) {
  const std::uint64_t end = read_clock_ns(CLOCK_MONOTONIC) + ns;
  Look found = look();
  while (found.before < end) found = look();
  return found;
}

TEST(Clock, IsTheKernelsBeforeItIsStarted) {
  const Look found = look();

  EXPECT_LE(found.before, found.said);
  EXPECT_LE(found.said, found.after);
}

TEST(Clock, StaysWithTheKernelsAfterItsOwnCounterTookOver) {
  start_counter_clock();
  static_cast<void>(look_after(kFarNs));  // long enough for its rate to be known
  const std::uint64_t start = read_clock_ns(CLOCK_MONOTONIC);
  const Look found = look_after(kFarNs);

  const std::uint64_t off = (found.after - start) / 1000 + 1000;  // one part in 1,000, and 1 us
  EXPECT_GE(found.said + off, found.before);
  EXPECT_LE(found.said, found.after + off);
}

TEST(Clock, NeverRunsBackwardsOnOneThread) {
  start_counter_clock();
  const std::uint64_t end = read_clock_ns(CLOCK_MONOTONIC) + kFarNs;
  std::uint64_t last = now_ns(), steps_back = 0;
  for (std::uint64_t now = last; now < end; last = now) {
    now = now_ns();
    steps_back += now + 1000 < last;  // 1 us for the moment of the change
  }

  EXPECT_EQ(steps_back, 0u);
}

TEST(Clock, DatesAnInstantHoweverLongAgoItWas) {
  constexpr std::uint64_t kAgoNs = 3'000'000'000;
  const std::uint64_t before = wall_time_ns();
  const std::uint64_t date = wall_time_at(now_ns() - kAgoNs);
  const std::uint64_t after = wall_time_ns();

  EXPECT_GE(date + kAgoNs + kFarNs / 100, before);
  EXPECT_LE(date + kAgoNs, after + kFarNs / 100);
}

TEST(Clock, GivesNoNegativeTimes) { EXPECT_EQ(elapsed_ns(~std::uint64_t{0}), 0u); }

}  // namespace
}  // namespace vramscope
