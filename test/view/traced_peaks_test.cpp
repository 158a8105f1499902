// What processes held of a device together is exact where each of them has its trace, and stays
// within bounds where anything is missing.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/peaks/traced_peaks.h"

#include <gtest/gtest.h>

#include <random>
#include <utility>
#include <vector>

#include "reporter/report/report.h"
#include "reporter/report/trigger.h"
#include "test/view/traced_processes.h"

namespace vramscope {
namespace {

using Process = TracedProcess;
using Changes = TracedChanges;
constexpr std::uint64_t kEnd = Process::kEnd;

std::uint64_t held_at(const Process& run, std::uint16_t device, std::uint64_t at_ns) {
  std::uint64_t held = 0;
  for (const TracedChange& change : run.changes) {
    if (change.place.device != device || change.at_ns > at_ns || at_ns >= kEnd) continue;
    held += change.came ? change.bytes : 0 - change.bytes;
  }
  return held;
}

// At every instant at which anything changed.
std::uint64_t true_peak(const std::vector<Process>& runs, std::uint16_t device) {
  std::uint64_t most = 0;
  for (const Process& run : runs) {
    for (const TracedChange& change : run.changes) {
      std::uint64_t sum = 0;
      for (const Process& one : runs) sum += held_at(one, device, change.at_ns);
      most = std::max(most, sum);
    }
  }
  return most;
}

// An allocation, or the free of one in `live`.
TracedChange random_change(std::mt19937_64& random, Changes& live, std::uint64_t at_ns) {
  if (!live.empty() && random() % 2 == 0) {
    std::swap(live[random() % live.size()], live.back());
    TracedChange change = live.back();
    live.pop_back();
    change.at_ns = at_ns;
    change.came = false;
    return change;
  }
  const Place place{.kind = random() % 4 == 0 ? Kind::managed : Kind::device,
                    .device = static_cast<std::uint16_t>(random() % 2)};
  live.push_back(
      {.at_ns = at_ns, .place = place, .address = 4096 * at_ns, .bytes = 1 + random() % 1000});
  return live.back();
}

// Two or three on two devices, with changes at different instants.
std::vector<Process> random_processes(std::mt19937_64& random) {
  std::vector<Process> processes(2 + random() % 2);
  std::vector<Changes> live(processes.size());
  for (std::size_t i = 0; i < processes.size(); ++i) processes[i].pid = static_cast<int>(i) + 1;
  for (std::uint64_t step = 0, now = 100; step < 60; ++step) {
    const std::size_t which = random() % processes.size();
    now += 1 + random() % 9;
    processes[which].changes.push_back(random_change(random, live[which], now));
  }
  return processes;
}

class TracedPeaks : public TracedProcesses {
 protected:
  static std::vector<DeviceSum> sums_of(const std::vector<ReportOfProcess>& reports) {
    std::vector<MergedProcess> processes;
    for (const ReportOfProcess& one : reports) processes.push_back(one.process);
    std::vector<DeviceSum> sums = device_sums(processes);
    refine_from_traces(sums, reports);
    return sums;
  }
};

Process run_of(std::int64_t pid, std::uint64_t from_ns, std::uint64_t to_ns, std::uint64_t bytes) {
  return traced_process(pid, from_ns, to_ns, bytes);
}

// Two that take turns: 70 at most, while the timelines would allow for 120.
TEST_F(TracedPeaks, OfProcessesThatTookTurnsIsTheHigherPeak) {
  const std::vector<ReportOfProcess> reports{report_of(run_of(1, 10, 20, 70)),
                                             report_of(run_of(2, 20, 30, 50))};
  const std::vector<DeviceSum> sums = sums_of(reports);

  ASSERT_EQ(sums.size(), 1U);
  EXPECT_TRUE(sums[0].is_traced);
  EXPECT_EQ(sums[0].lower, 70U);
  EXPECT_EQ(sums[0].upper, 70U);
}

TEST_F(TracedPeaks, WhatIsNeverFreedGoesWithItsProcess) {
  Process first = run_of(1, 10, 0, 70);
  first.changes.pop_back();
  std::vector<ReportOfProcess> reports{report_of(first), report_of(run_of(2, 20, 30, 50))};
  EXPECT_EQ(sums_of(reports).at(0).lower, 120U);

  reports[0].process.timeline.duration_ns = 15;

  EXPECT_EQ(sums_of(reports).at(0).upper, 70U);
}

TEST_F(TracedPeaks, OfRandomProcessesIsThatOfEveryInstant) {
  std::mt19937_64 random(4711);
  int apart = 0;  // sums of which the traces alone tell the peak
  for (int round = 0; round < 30; ++round) {
    const std::vector<Process> processes = random_processes(random);
    std::vector<ReportOfProcess> reports;
    for (const Process& process : processes) reports.push_back(report_of(process));
    for (const DeviceSum& sum : sums_of(reports)) {
      EXPECT_EQ(sum.lower, true_peak(processes, sum.index)) << "round " << round;
      EXPECT_EQ(sum.upper, sum.lower) << "round " << round;
      apart += sum.is_traced ? 1 : 0;
    }
  }
  EXPECT_GT(apart, 50);
}

// Each of these says too little, or of another run.
TEST_F(TracedPeaks, StaysWithinBoundsUnlessEveryTraceIsThere) {
  const Process first = run_of(1, 10, 20, 70);
  const auto stays = [&](const ReportOfProcess& second) {
    const std::vector<DeviceSum> sums = sums_of({report_of(first), second});
    return sums.size() == 1 && !sums[0].is_traced && sums[0].lower == 70 && sums[0].upper == 120;
  };
  Process run = run_of(2, 20, 30, 50);
  ReportOfProcess report = report_of(run);
  EXPECT_FALSE(stays(report));

  report.process.trigger = word_of(Trigger::recovered);
  EXPECT_TRUE(stays(report)) << "killed";
  report = report_of(run);
  report.process.trace.lost = 1;
  EXPECT_TRUE(stays(report)) << "events are not in it";
  report = report_of(run);
  ++report.process.trace.events;
  EXPECT_TRUE(stays(report)) << "of another length";
  report = report_of(run);
  report.process.trace.path = "absent.trace";
  EXPECT_TRUE(stays(report)) << "absent";
  run.is_cut = true;
  EXPECT_TRUE(stays(report_of(run))) << "cut off";
  run.is_cut = false;
  run.boot_ns += 3'600'000'000'000;
  EXPECT_TRUE(stays(report_of(run))) << "another boot";
}

TEST_F(TracedPeaks, StaysWithinBoundsWhereATraceIsAnothers) {
  std::vector<ReportOfProcess> reports{report_of(run_of(1, 10, 20, 70)),
                                       report_of(run_of(2, 20, 30, 70))};
  reports[1].process.trace.path = "1.trace";

  EXPECT_FALSE(sums_of(reports).at(0).is_traced);
  EXPECT_EQ(sums_of(reports).at(0).upper, 140U);
}

// Three held 120 and more at one time; of the fourth, which was killed, only its peak is known.
TEST_F(TracedPeaks, OfTracesThatAreThereIsTheLowerBoundWhereAnotherIsNot) {
  Process killed = run_of(4, 10, 0, 30);
  killed.changes.pop_back();
  std::vector<ReportOfProcess> reports{report_of(run_of(1, 10, 20, 70)),
                                       report_of(run_of(2, 15, 30, 50)),
                                       report_of(run_of(3, 40, 50, 80)), report_of(killed)};
  reports[3].process.trigger = word_of(Trigger::recovered);

  const DeviceSum sum = sums_of(reports).at(0);

  EXPECT_FALSE(sum.is_traced);
  EXPECT_TRUE(sum.is_partly_traced);
  EXPECT_EQ(sum.lower, 120U);
  EXPECT_EQ(sum.upper, 150U);  // without the traces 230
}

TEST_F(TracedPeaks, OfAKindInAMergedReportIsThatOfTheTraces) {
  Process first = run_of(1, 10, 20, 70);
  first.changes.push_back(
      {.at_ns = 30, .place = {.kind = Kind::managed}, .address = 4096, .bytes = 9});
  const std::vector<ReportOfProcess> reports{report_of(first), report_of(run_of(2, 20, 30, 50))};
  Report merged;
  merged.file = reports[0].file;
  for (const ReportOfProcess& one : reports) merged.processes.push_back(one.process);
  EXPECT_EQ(peak_bounds(merged.processes, Kind::device, 0).upper, 120U);

  const SumOfKind sum = sum_of_kind(merged, Kind::device, 0);

  EXPECT_TRUE(sum.is_traced);
  EXPECT_EQ(sum.peak.lower, 70U);
  EXPECT_EQ(sum.peak.upper, 70U);
}

// What it held before is not known: 70 bytes, which the second process's trace lacks.
TEST_F(TracedPeaks, StaysWithinBoundsWhereATraceBeganAmidTheRun) {
  Process second = run_of(2, 10, 25, 70);
  second.changes.push_back({.at_ns = 30, .place = {}, .address = 128, .bytes = 70});
  second.late_ns = 28;

  const DeviceSum sum = sums_of({report_of(run_of(1, 15, 20, 70)), report_of(second)}).at(0);

  EXPECT_FALSE(sum.is_traced);
  EXPECT_EQ(sum.upper, 140U);
}

// As where the program reset its peaks, or a free had to wait.
TEST_F(TracedPeaks, StaysWithinBoundsWhereAPeakIsNotTheTraces) {
  std::vector<ReportOfProcess> reports{report_of(run_of(1, 10, 20, 70)),
                                       report_of(run_of(2, 20, 30, 50))};
  reports[1].process.kinds[0].peak_bytes = 60;

  EXPECT_FALSE(sums_of(reports).at(0).is_traced);
  EXPECT_EQ(sums_of(reports).at(0).upper, 130U);
}

TEST_F(TracedPeaks, StaysWithinBoundsOnSeveralHosts) {
  std::vector<ReportOfProcess> reports{report_of(run_of(1, 10, 20, 70)),
                                       report_of(run_of(2, 20, 30, 50))};
  reports[1].process.process.hostname = "node2";  // a container's

  const std::vector<DeviceSum> sums = sums_of(reports);

  ASSERT_EQ(sums.size(), 1U);
  EXPECT_FALSE(sums[0].is_traced);
  EXPECT_EQ(sums[0].upper, 120U);
}

TEST_F(TracedPeaks, IsOfTheKindsThatWereChosen) {
  Process run = run_of(1, 10, 20, 70);
  run.changes.push_back(
      {.at_ns = 12, .place = {.kind = Kind::managed}, .address = 4096, .bytes = 9});
  std::swap(run.changes[1], run.changes[2]);
  std::vector<ReportOfProcess> reports{report_of(run), report_of(run_of(2, 15, 30, 50))};
  EXPECT_EQ(sums_of(reports).at(0).upper, 129U);

  std::erase_if(reports[0].process.kinds,
                [](const KindFacts& kind) { return kind.kind == Kind::managed; });

  EXPECT_EQ(sums_of(reports).at(0).upper, 120U);
}

}  // namespace
}  // namespace vramscope
