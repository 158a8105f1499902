// What a recorder counts of calls and their times, and what a reset leaves.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <numeric>

#include "reporter/record/recorder.h"
#include "test/reporter/made_events.h"

namespace vramscope {
namespace {

TEST(Recorder, SeparatesTimesOfHitsDriverCallsAndWaits) {
  Recorder recorder(2);
  recorder.record(allocation(Served::hit, 100));
  Event driver = allocation(Served::driver, 5000);
  driver.driver_ns = 4000;
  recorder.record(driver);
  Event release = allocation(Served::hit, 1000);
  release.effect = Effect::release;
  release.sync_ns = 900;
  recorder.record(release);

  const Timing timing = recorder.facts().devices.at(0).second;

  EXPECT_EQ(timing.alloc_hit.total_ns, 100U);
  EXPECT_EQ(timing.alloc_hit.histogram[6], 1U);
  EXPECT_EQ(timing.alloc_driver.total_ns, 4000U);
  EXPECT_EQ(timing.free_hit.total_ns, 100U);
  EXPECT_EQ(timing.sync.total_ns, 900U);
  EXPECT_EQ(timing.free_driver.count, 0U);
}

TEST(Recorder, CountsFailuresAsCallsButNotAsAllocations) {
  Recorder recorder(2);
  Event failed = allocation(Served::driver, 300);
  failed.failed = true;
  recorder.record(failed);
  recorder.record(allocation(Served::driver, 100));

  const RecorderFacts facts = recorder.facts();

  EXPECT_EQ(facts.functions.at(1).calls, 2U);
  EXPECT_EQ(facts.functions.at(1).failures, 1U);
  EXPECT_EQ(facts.functions.at(1).time.min_ns, 100U);
  EXPECT_EQ(facts.functions.at(1).time.max_ns, 300U);
  EXPECT_EQ(facts.devices.at(0).second.alloc_driver.count, 1U);
  EXPECT_EQ(facts.functions.at(0).calls, 0U);
}

TEST(Recorder, CountsPinnedAndRegisteredMemoryForTheHost) {
  Recorder recorder(2);
  Event pin = allocation(Served::direct, 50);
  pin.effect = Effect::pin;
  pin.place = {.kind = Kind::registered, .device = 0, .context = 0};
  recorder.record(pin);

  EXPECT_EQ(recorder.facts().host.alloc_driver.total_ns, 50U);
  EXPECT_TRUE(recorder.facts().devices.empty());
}

TEST(Recorder, IgnoresRowsThatItWasNotMadeFor) {
  Recorder recorder(1);
  recorder.record(allocation(Served::hit, 10));

  EXPECT_EQ(recorder.facts().functions.size(), 1U);
  EXPECT_TRUE(recorder.facts().devices.empty());
}

TEST(Recorder, TakesNoUnknownDeviceForTheHost) {
  Recorder recorder(2);
  Event event = allocation(Served::hit, 10);
  event.place.device = kMaxDevices;
  recorder.record(event);

  EXPECT_EQ(recorder.facts().host.alloc_hit.count, 0U);
  EXPECT_EQ(recorder.facts().functions.at(1).calls, 1U);
}

TEST(Recorder, ResetsTimesButNotFunctions) {
  Recorder recorder(2);
  recorder.record(allocation(Served::hit, 100));
  recorder.reset_timing();
  const Timing empty = recorder.facts().devices.at(0).second;
  recorder.record(allocation(Served::hit, 7));
  const RecorderFacts facts = recorder.facts();

  EXPECT_EQ(empty.alloc_hit.count, 0U);
  EXPECT_EQ(facts.devices.at(0).second.alloc_hit.total_ns, 7U);
  EXPECT_EQ(facts.devices.at(0).second.alloc_hit.max_ns, 7U);
  EXPECT_EQ(facts.functions.at(1).calls, 2U);
}

TEST(Recorder, ResetsTotalsOfTheHostButNotExtremes) {
  Recorder recorder(2);
  Event event = allocation(Served::driver, 100);
  event.place.kind = Kind::pinned;
  recorder.record(event);

  recorder.reset_host_accumulated();
  const Duration empty = recorder.host_timing().alloc_driver;
  event.total_ns = 7;
  recorder.record(event);
  const Duration next = recorder.facts().host.alloc_driver;

  EXPECT_EQ((std::array{empty.count, empty.total_ns, empty.min_ns, empty.max_ns}),
            (std::array<std::uint64_t, 4>{0, 0, 100, 100}));
  EXPECT_EQ((std::array{next.count, next.total_ns, next.min_ns, next.max_ns}),
            (std::array<std::uint64_t, 4>{1, 7, 7, 100}));
  EXPECT_EQ(next.histogram[2], 1U);
}

TEST(Recorder, PutsDurationsIntoPowersOfTwo) {
  Recorder recorder(2);
  for (const std::uint64_t ns : {0ULL, 1ULL, 2ULL, 3ULL, 1023ULL, 1024ULL, 1ULL << 50}) {
    recorder.record(allocation(Served::hit, ns));
  }

  const Histogram histogram = recorder.facts().functions.at(1).time.histogram;

  EXPECT_EQ(histogram[0], 2U);
  EXPECT_EQ(histogram[1], 2U);
  EXPECT_EQ(histogram[9], 1U);
  EXPECT_EQ(histogram[10], 1U);
  EXPECT_EQ(histogram[39], 1U);
  EXPECT_EQ(std::accumulate(histogram.begin(), histogram.end(), std::uint64_t{0}), 7U);
}

}  // namespace
}  // namespace vramscope
