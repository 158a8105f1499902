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

// Of one device, of which every free that went to the driver gave a segment back.
Report report_of(const Timing& timing) {
  Report report;
  DeviceReport& device = report.devices.emplace_back();
  device.timing = timing;
  device.statistics.allocation.all.freed =
      static_cast<std::int64_t>(timing.free_hit.count + timing.free_driver.count);
  device.statistics.num_device_free = device.statistics.segment.all.freed =
      static_cast<std::int64_t>(timing.free_driver.count);
  return report;
}

Savings savings(const Report& report) { return device_savings(report, report.devices[0]); }
Savings savings(const Timing& timing) { return savings(report_of(timing)); }

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

// 232 calls were saved of 480, 334 of which were made: 86 segments went back after their frees.
TEST(Savings, WhatWentBackLaterIsNotSaved) {
  Timing timing;
  timing.alloc_hit = calls({{33, 1'000}});
  timing.alloc_driver = calls({{207, 60'000}});
  timing.free_hit = calls({{199, 1'000}});
  timing.free_driver = calls({{41, 900'000}});
  Report report = report_of(timing);
  DeviceStatistics& statistics = report.devices[0].statistics;
  statistics.num_device_free = statistics.segment.all.freed = 127;

  EXPECT_EQ(savings(report).given_back_later, 86u);
  EXPECT_EQ(savings(report).driver_calls, 146u);
  EXPECT_EQ(savings(report).most_ns, 33u * (60'000 - 1'000) + 113u * 900'000 - 199u * 1'000);

  statistics.segment.all.freed = 128;  // one ended with its context, and perhaps with blocks
  EXPECT_EQ(savings(report).driver_calls, std::nullopt);
}

TEST(Savings, CallsWithNothingToFreeAreNoFrees) {
  Timing timing;
  timing.alloc_hit = calls({{20, 1'000}});
  timing.alloc_driver = calls({{20, 60'000}});
  timing.free_hit = calls({{20, 1'000}});
  timing.free_driver = calls({{12, 900'000}, {30, 300}});
  Report report = report_of(timing);
  DeviceStatistics& statistics = report.devices[0].statistics;
  statistics.allocation.all.freed = 32;
  statistics.num_device_free = statistics.segment.all.freed = 12;

  EXPECT_EQ(savings(report).driver_calls, 40u);
  EXPECT_EQ(savings(report).given_back_later, 0u);
  EXPECT_GE(savings(report).least_ns, 20u * (500'000 + 32'000 - 2'000));

  statistics.allocation.all.freed = 29;  // 9 are too few
  statistics.num_device_free = statistics.segment.all.freed = 9;
  EXPECT_EQ(savings(report).most_ns, 20u * (60'000 - 1'000));
}

// "784 ms to 3.28 s saved" of a run of 3.11 s, which then was "784 ms to 3.11 s".
TEST(Savings, OfARangeBeyondTheRunTheLeastIsTold) {
  Timing timing;
  timing.alloc_hit = calls({{100, 1'000}});
  timing.alloc_driver = calls({{10, 20'000}, {10, 60'000}});
  Report report = report_of(timing);
  report.timeline.duration_ns = 6'000'000;
  EXPECT_EQ(saved_text(savings(report)), "1.90 ms to 5.90 ms in 100 allocations (estimated)");

  report.timeline.duration_ns = 3'000'000;
  EXPECT_EQ(savings(report).most_ns, 3'000'000u);
  EXPECT_EQ(saved_text(savings(report)), "at least 1.90 ms in 100 allocations (estimated)");

  report.timeline.duration_ns = 1'500'000;
  EXPECT_EQ(savings(report).least_ns, 1'500'000u);
  EXPECT_EQ(saved_text(savings(report)), "at least 1.50 ms in 100 allocations (estimated)");
}

// "435 us to 41.1 ms", where the driver's fastest call took less than a hit of the cache.
TEST(Savings, BeginWhereTheFastestCallOfTheDriverWould) {
  Timing timing;
  timing.alloc_hit = calls({{100, 30'000}});
  timing.alloc_driver = calls({{1, 20'000}, {19, 60'000}});
  timing.free_hit = calls({{100, 1'000}});
  timing.free_driver = calls({{5, 900'000}});

  EXPECT_EQ(savings(timing).least_ns, 0u);
  EXPECT_EQ(saved_text(savings(timing)),
            "up to 3.00 ms in 100 allocations (estimated); what the cache saved in 100 frees is "
            "not known");
}

// 4 calls and 6 were enough, of which some were the first of their processes.
TEST(Savings, SumsHaveNoEstimate) {
  Timing timing;
  timing.alloc_hit = calls({{100, 1'000}});
  timing.alloc_driver = calls({{20, 60'000}});
  Report report = report_of(timing);
  report.host.timing = timing;
  report.processes.resize(2);

  EXPECT_FALSE(savings(report).estimated);
  EXPECT_FALSE(pinned_savings(report).estimated);
  EXPECT_EQ(saved_text(savings(report)), "");
  EXPECT_EQ(savings(report).driver_calls, 100u);

  report.processes.resize(1);
  EXPECT_TRUE(savings(report).estimated);
  EXPECT_TRUE(pinned_savings(report).estimated);
}

// "up to 260 us" of 5 hits that took longer than the driver, for its first calls took longest.
TEST(Savings, HitsAsSlowAsTheDriverSaveNothing) {
  Timing timing;
  timing.alloc_hit = calls({{5, 210'000}});
  timing.alloc_driver = calls({{1, 9'000'000}, {1, 100'000}, {20, 180'000}, {20, 200'000}});
  EXPECT_EQ(savings(timing).most_ns, 0u);

  timing.alloc_hit = calls({{5, 170'000}});
  EXPECT_EQ(savings(timing).least_ns, 0u);
  EXPECT_NE(savings(timing).most_ns, 0u);
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
