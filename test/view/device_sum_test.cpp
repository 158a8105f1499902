// What processes held of a device together lies between the bounds that their timelines give.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/peaks/device_sum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include "allocator/books/timeline.h"
#include "reporter/report/merge_processes.h"
#include "reporter/report/merged_process.h"
#include "reporter/report/report.h"
#include "reporter/report/site_list.h"
#include "reporter/view/text/timeline_bounds.h"
#include "reporter/view/text/timeline_text.h"

namespace vramscope {
namespace {

constexpr std::uint64_t kMs = 1'000'000;

// A process whose memory is given by its changes: what it held from each instant on.
using Changes = std::map<std::uint64_t, std::uint64_t>;

MergedProcess process_with(const Changes& changes, std::uint64_t start_ns,
                           std::uint64_t duration_ns) {
  Timeline timeline;
  KindFacts kind{.kind = Kind::device};
  std::uint64_t held = 0;
  for (const auto& [at, bytes] : changes) {
    timeline.note(at, held, bytes);
    held = bytes;
    if (bytes > kind.peak_bytes) {
      kind.peak_bytes = bytes;
      kind.peak_ns = at;
    }
  }
  timeline.advance(duration_ns, held);
  kind.current_bytes = held;
  TimelineSeries series{.kind = Kind::device, .bucket_ns = timeline.bucket_ns()};
  for (std::size_t i = 0; i < timeline.size(); ++i) {
    series.highest.push_back(timeline[i].highest);
    series.last.push_back(timeline[i].last);
  }
  MergedProcess process;
  process.process.hostname = "node1";
  process.process.report_time_ns = start_ns + duration_ns;
  process.trigger = "exit";
  process.devices = {{.index = 0, .name = "H200", .uuid = "GPU-1", .pci_bus_id = ""}};
  process.kinds = {kind};
  process.timeline = {.start_ns = start_ns, .duration_ns = duration_ns, .series = {series}};
  return process;
}

std::uint64_t held_at(const Changes& changes, std::uint64_t at) {
  const auto next = changes.upper_bound(at);
  return next == changes.begin() ? 0 : std::prev(next)->second;
}

TEST(DeviceSum, PeaksOfKindsThatWereApartAreNotAdded) {
  MergedProcess process = process_with({{3 * kMs, 70}, {9 * kMs, 10}}, 1000, 40 * kMs);
  const MergedProcess other = process_with({{20 * kMs, 50}, {30 * kMs, 0}}, 1000, 40 * kMs);
  process.kinds.push_back(other.kinds.front());
  process.kinds.back().kind = Kind::managed;
  process.timeline.series.push_back(other.timeline.series.front());
  process.timeline.series.back().kind = Kind::managed;

  const PeakBounds peak = peak_bounds(process);

  EXPECT_EQ(peak.lower, 70u);
  EXPECT_EQ(peak.upper, 70u);
  EXPECT_EQ(peak_of(process), 70u);
  EXPECT_EQ(device_sums({process}).front().upper, 70u);
}

TEST(DeviceSum, WithoutATimelineThePeaksOfKindsMayHaveComeTogether) {
  MergedProcess process = process_with({{3 * kMs, 70}}, 1000, 40 * kMs);
  process.kinds.push_back(process.kinds.front());
  process.kinds.back().kind = Kind::managed;
  process.timeline.series.clear();

  EXPECT_EQ(peak_bounds(process).lower, 70u);
  EXPECT_EQ(peak_bounds(process).upper, 140u);
}

TEST(DeviceSum, OfOneProcessIsItsPeak) {
  const auto sums = device_sums({process_with({{3 * kMs, 70}, {9 * kMs, 0}}, 1000, 20 * kMs)});

  ASSERT_EQ(sums.size(), 1u);
  EXPECT_EQ(sums[0].lower, 70u);
  EXPECT_EQ(sums[0].upper, 70u);
}

TEST(DeviceSum, OfProcessesOneAfterTheOtherIsTheHigherPeak) {
  const auto sums = device_sums({process_with({{kMs, 70}, {9 * kMs, 0}}, 0, 20 * kMs),
                                 process_with({{kMs, 50}, {9 * kMs, 0}}, 100 * kMs, 20 * kMs)});

  ASSERT_EQ(sums.size(), 1u);
  EXPECT_EQ(sums[0].upper, 70u);
  EXPECT_EQ(sums[0].sum_of_peaks, 120u);
}

// `timeline` said at most 70 where `report` said up to 120: dates are not exact.
TEST(DeviceSum, ATimelineOfSeveralTellsOfTheSameBound) {
  Report report;
  report.processes = {process_with({{kMs, 70}, {30 * kMs, 0}}, 0, 60 * kMs),
                      process_with({{32 * kMs, 50}, {50 * kMs, 0}}, 0, 60 * kMs)};
  report.timeline = report.processes[0].timeline;
  const std::uint64_t upper = device_sums(report.processes)[0].upper;
  ASSERT_EQ(upper, 120u);

  RunTimeline timeline = run_timeline(report, {});
  add_bounds(timeline, report);
  ASSERT_EQ(timeline.curves.size(), 1u);
  EXPECT_EQ(timeline.curves[0].most_bytes, upper);
  ASSERT_EQ(timeline.marks.size(), 1u);
  EXPECT_EQ(timeline.marks[0].bytes, upper);

  RunTimeline part = run_timeline(report, {.from_ns = 40 * kMs});
  add_bounds(part, report);
  EXPECT_EQ(part.curves[0].most_bytes, 0u);  // of the part nobody asked
}

// Workers of a pool that allocate one after the other, hold on and are terminated.
TEST(DeviceSum, OfKilledProcessesCountsWhatTheyMayHaveHeldOn) {
  std::vector<MergedProcess> workers = {process_with({{0, 70}}, 0, 0),
                                        process_with({{0, 50}}, 40 * kMs, 0)};
  EXPECT_EQ(device_sums(workers)[0].upper, 70u);  // as if each had ended

  for (MergedProcess& worker : workers) worker.trigger = "recovered";

  EXPECT_FALSE(is_end_known(workers[0]));
  EXPECT_EQ(device_sums(workers)[0].upper, 120u);
  EXPECT_EQ(device_sums(workers)[0].lower, 70u);
}

TEST(DeviceSum, OfAKilledProcessCountsNothingAfterAnEndThatIsKnown) {
  std::vector<MergedProcess> workers = {process_with({{0, 70}}, 10 * kMs, 0),
                                        process_with({{0, 50}}, 100 * kMs, 20 * kMs)};
  workers[0].trigger = "recovered";
  EXPECT_EQ(device_sums(workers)[0].upper, 120u);

  workers[0].timeline.duration_ns = 50 * kMs;  // it ended so long after its only call
  EXPECT_TRUE(is_end_known(workers[0]));
  EXPECT_EQ(device_sums(workers)[0].upper, 70u);

  workers[0].timeline.duration_ns = 95 * kMs;  // while the other one held its own
  EXPECT_EQ(device_sums(workers)[0].upper, 120u);
}

class ProcessesOf : public ProcessList {
 public:
  explicit ProcessesOf(const Report& report) : report_(report) {}
  [[nodiscard]] std::size_t size() const override { return report_.processes.size(); }
  [[nodiscard]] MergedProcess at(std::size_t index) const override {
    return report_.processes[index];
  }

 private:
  const Report& report_;
};

// In the timeline of a merged report.
TEST(DeviceSum, OfTheTimelineHasNothingOfAKilledProcessAfterAnEndThatIsKnown) {
  Report report;
  report.processes = {process_with({{0, 70}}, 10 * kMs, 0),
                      process_with({{0, 50}}, 100 * kMs, 20 * kMs)};
  report.processes[0].trigger = "recovered";
  Report known = report;
  known.processes[0].timeline.duration_ns = 50 * kMs;

  set_by_processes(report, ProcessesOf(report));
  set_by_processes(known, ProcessesOf(known));

  ASSERT_EQ(known.timeline.series.size(), 1u);
  const TimelineSeries& sum = known.timeline.series[0];
  EXPECT_EQ(sum.bucket_ns, std::uint64_t{1} << 20);
  EXPECT_EQ(sum.highest[40], 70u);
  EXPECT_EQ(sum.highest[60], 0u);
  EXPECT_EQ(sum.highest[95], 50u);
  EXPECT_EQ(sum.last.back(), 0u);
  EXPECT_EQ(report.timeline.series[0].highest[60], 70u);  // it may have held on
}

TEST(DeviceSum, IsNotMadeOfDevicesThatAreNotTheSame) {
  MergedProcess other = process_with({{kMs, 50}}, 0, 20 * kMs);
  other.devices[0].uuid = "GPU-2";

  EXPECT_EQ(device_sums({process_with({{kMs, 70}}, 0, 20 * kMs), other}).size(), 2u);
}

struct RandomRun {
  std::vector<Changes> changes;
  std::vector<std::uint64_t> starts;
  std::vector<std::uint64_t> lengths;
};

// Some begin at one instant, others in the midst of a bucket.
RandomRun random_run(std::mt19937_64& random) {
  const auto below = [&](std::uint64_t end) { return random() % end; };
  RandomRun run;
  const std::uint64_t length = 1 + below(600 * kMs);
  for (std::size_t i = 0, count = 2 + below(3); i < count; ++i) {
    Changes& changes = run.changes.emplace_back();
    run.lengths.push_back(1 + below(length));
    for (std::uint64_t n = 0; n <= below(30); ++n) changes[below(run.lengths[i])] = below(1000);
    run.starts.push_back(100 * kMs + (below(3) == 0 ? 0 : below(length)));
  }
  return run;
}

std::uint64_t true_peak(const RandomRun& run) {
  std::uint64_t peak = 0;
  for (std::size_t one = 0; one < run.changes.size(); ++one) {
    for (const auto& [at, bytes] : run.changes[one]) {
      std::uint64_t sum = 0;
      for (std::size_t i = 0; i < run.changes.size(); ++i) {
        const std::uint64_t then = run.starts[one] + at;
        const bool runs = then >= run.starts[i] && then < run.starts[i] + run.lengths[i];
        sum += runs ? held_at(run.changes[i], then - run.starts[i]) : 0;
      }
      peak = std::max(peak, sum);
    }
  }
  return peak;
}

// Dates of reports are late by what it took to write them: in a run of 8 the sum's bound was 1 MiB
// below what seven of them held.
TEST(DeviceSum, OfRandomProcessesWithDatesThatAreWrongIsWithinTheBounds) {
  constexpr int kRounds = 1000;
  std::mt19937_64 random(4711);
  for (int round = 0; round < kRounds; ++round) {
    const RandomRun run = random_run(random);
    std::vector<MergedProcess> processes;
    for (std::size_t i = 0; i < run.changes.size(); ++i) {
      const std::uint64_t late = random() % 2 == 0 ? 0 : random() % (20 * kMs);
      processes.push_back(process_with(run.changes[i], run.starts[i] + late, run.lengths[i]));
    }

    const auto sums = device_sums(processes);

    const std::uint64_t peak = true_peak(run);
    if (peak == 0) continue;
    ASSERT_EQ(sums.size(), 1u) << "round " << round;
    EXPECT_LE(sums[0].lower, peak) << "round " << round;
    EXPECT_GE(sums[0].upper, peak) << "round " << round;
  }
}

}  // namespace
}  // namespace vramscope
