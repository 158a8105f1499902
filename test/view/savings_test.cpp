// What the cache saved: calls, and an estimate of their time.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/savings.h"

#include <gtest/gtest.h>

#include "reporter/report/report.h"
#include "reporter/view/text/words.h"
#include "test/view/sample_report.h"

namespace vramscope {
namespace {

Duration calls(std::initializer_list<std::pair<std::uint64_t, std::uint64_t>> counts_and_ns) {
  Duration duration;
  for (const auto& [count, ns] : counts_and_ns) {
    for (std::uint64_t i = 0; i < count; ++i) duration.add(ns);
  }
  return duration;
}

TEST(Savings, AreBetweenTheQuartilesOfDriverCalls) {
  const Savings saved = savings(sample_report().devices[0].timing);

  EXPECT_EQ(saved.allocations, 1000u);
  EXPECT_EQ(saved.hits, 990u);
  EXPECT_EQ(saved.driver_calls, 990u + 998u);
  EXPECT_TRUE(saved.estimated);
  EXPECT_EQ(saved.least_ns, 990u * (65'536 - 100));  // each took 100 us
  EXPECT_EQ(saved.most_ns, 990u * (131'072 - 100));
}

// 1,012,377 hits beside 23 calls, of which the first took 6.8 ms, were "13 min" in a run of 2 s.
TEST(Savings, TheFirstCallsOfAProcessDoNotCount) {
  Timing timing;
  timing.alloc_hit = calls({{1000, 1'000}});
  timing.alloc_driver = calls({{2, 40'000'000}, {10, 60'000}, {10, 120'000}});

  const Savings saved = savings(timing);

  EXPECT_GE(saved.least_ns, 1000u * (32'000 - 1'000));
  EXPECT_LE(saved.least_ns, 1000u * (60'000 - 1'000));
  EXPECT_GE(saved.most_ns, 1000u * (120'000 - 1'000));
  EXPECT_LE(saved.most_ns, 1000u * (132'000 - 1'000));
}

TEST(Savings, FreesCountWhereEnoughWentToTheDriver) {
  Timing timing;
  timing.alloc_hit = calls({{100, 1'000}});
  timing.alloc_driver = calls({{20, 50'000}});
  timing.free_hit = calls({{100, 1'000}});
  timing.sync = calls({{100, 2'000}});
  timing.free_driver = calls({{9, 900'000}});
  EXPECT_EQ(savings(timing).most_ns, 100u * (50'000 - 1'000));

  timing.free_driver = calls({{10, 900'000}});
  EXPECT_EQ(savings(timing).most_ns, 100u * (50'000 - 1'000 + 900'000 - 1'000 - 2'000));
}

TEST(Savings, NothingIsEstimatedOfFewCalls) {
  Timing timing;
  timing.alloc_hit = calls({{1'000'000, 1'000}});
  timing.alloc_driver = calls({{9, 50'000}});

  EXPECT_FALSE(savings(timing).estimated);
  EXPECT_EQ(savings(timing).most_ns, 0u);
  timing.alloc_driver = calls({{999, 50'000}});  // for a million
  EXPECT_FALSE(savings(timing).estimated);
  timing.alloc_driver = calls({{1000, 50'000}});
  EXPECT_TRUE(savings(timing).estimated);
}

// "784 ms to 3.28 s saved" of a run of 3.11 s.
TEST(Savings, AreNotToldBeyondTheRun) {
  Report report;
  report.timeline.duration_ns = 3'000'000;
  report.devices.emplace_back();
  Timing& timing = report.devices[0].timing;
  timing.alloc_hit = calls({{100, 1'000}});
  timing.alloc_driver = calls({{10, 20'000}, {10, 60'000}});
  EXPECT_EQ(device_savings(report, report.devices[0]).most_ns, 3'000'000u);
  EXPECT_EQ(saved_text(device_savings(report, report.devices[0])), "1.90 ms to 3.00 ms");

  report.processes.resize(2);  // each of which may have lasted so long
  EXPECT_EQ(device_savings(report, report.devices[0]).most_ns, savings(timing).most_ns);

  report.processes.clear();
  report.timeline.duration_ns = 1'500'000;
  EXPECT_EQ(device_savings(report, report.devices[0]).least_ns, 1'500'000u);
  EXPECT_EQ(saved_text(device_savings(report, report.devices[0])), "at least 1.50 ms");
}

TEST(Savings, ASlowerCacheSavesNothing) {
  Timing timing;
  timing.alloc_hit = calls({{100, 900}});
  timing.alloc_driver = calls({{100, 9}});

  EXPECT_EQ(savings(timing).most_ns, 0u);
}

TEST(Savings, RegistrationsAreNoMeasureOfWhatPinningCosts) {
  Report report = sample_report();
  report.host.timing.alloc_hit = calls({{6, 100}});
  report.host.timing.alloc_driver = {.count = 12, .total_ns = 3'600'000};
  report.functions = {{.name = "cuMemHostRegister_v2",
                       .totals = {.calls = 3, .failures = 1, .time = {.total_ns = 1'600'000}}}};

  EXPECT_EQ(pinned_driver_time(report).count, 10u);
  EXPECT_EQ(pinned_driver_time(report).total_ns, 2'000'000u);
  EXPECT_EQ(pinned_savings(report).hits, 6u);
  EXPECT_EQ(pinned_savings(report).least_ns, 6u * (200'000 - 100));
}

}  // namespace
}  // namespace vramscope
