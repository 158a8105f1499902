// Where a process has its trace, its peak, the time of that and its steps are exact; else they stay
// as its report has them.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/peaks/exact_peaks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "reporter/report/report.h"
#include "reporter/view/analysis/peaks/peak_time.h"
#include "reporter/view/analysis/ranks_answer.h"
#include "reporter/view/analysis/replay/traced_curve.h"
#include "test/view/traced_processes.h"

namespace vramscope {
namespace {

using Process = TracedProcess;
using Reports = std::vector<ReportOfProcess>;
constexpr Place kManaged{.kind = Kind::managed, .device = 1};

class ExactPeaks : public TracedProcesses {
 protected:
  // With steps as rough as a timeline's.
  [[nodiscard]] Reports reports_of(const std::vector<Process>& runs) const {
    Reports reports;
    for (const Process& run : runs) {
      ReportOfProcess& one = reports.emplace_back(report_of(run));
      std::vector<NamedInstant> marks;
      for (const MarkFact& mark : run.marks)
        marks.push_back({.time_ns = mark.clock_ns - Process::kBegin, .name = mark.name});
      for (const std::string& name : step_names(marks))
        one.facts.marks.push_back({.name = name, .bytes = 9999, .from = BytesFrom::timeline});
    }
    return reports;
  }
};

std::vector<std::uint64_t> bytes_of(const std::vector<NamedBytes>& all) {
  std::vector<std::uint64_t> bytes;
  for (const NamedBytes& one : all) bytes.push_back(one.bytes);
  return bytes;
}

// Kinds and devices took turns: 70 of either at a time, while the peaks would allow for 140.
Process taking_turns(std::int64_t pid) {
  Process run = traced_process(pid, 10, 20, 70);
  run.changes.push_back({.at_ns = 30, .place = kManaged, .address = 128, .bytes = 71});
  return run;
}

TEST_F(ExactPeaks, OfOneProcessIsThatOfAllKindsAndDevicesTogether) {
  Reports reports{report_of(taking_turns(1))};
  EXPECT_EQ(peak_bounds(reports[0]).upper, 141U);

  make_peaks_exact(reports);

  EXPECT_EQ(peak_bounds(reports[0]).lower, 71U);
  EXPECT_EQ(peak_bounds(reports[0]).upper, 71U);
  EXPECT_EQ(reports[0].traced_peak->at_ns, 30 - Process::kBegin);
  EXPECT_EQ(reports[0].traced_peak->devices,
            (std::map<std::uint16_t, std::uint64_t>{{0, 70}, {1, 71}}));
}

TEST_F(ExactPeaks, StaysWithinBoundsWhereTheTraceIsNotWhole) {
  Reports reports{report_of(taking_turns(1))};
  reports[0].process.trace.events += 1;
  make_peaks_exact(reports);
  EXPECT_EQ(peak_bounds(reports[0]).upper, 141U) << "the trace lacks an event";

  Process late = taking_turns(1);
  late.changes.insert(
      late.changes.begin(),
      {{.at_ns = 6, .place = kManaged, .address = 512, .bytes = 71},
       {.at_ns = 7, .place = kManaged, .address = 512, .bytes = 71, .came = false}});
  late.late_ns = 9;
  reports = {report_of(late)};
  make_peaks_exact(reports);
  EXPECT_FALSE(reports[0].traced_peak) << "what it held before is not known";
}

// A curve would begin with what was live then, as if nothing had been held before.
TEST_F(ExactPeaks, ACurveIsOfAWholeRun) {
  Process run = traced_process(1, 10, 20, 70);
  run.changes.push_back(
      {.at_ns = 30, .place = {.kind = Kind::managed}, .address = 128, .bytes = 70});
  EXPECT_TRUE(traced_curve(report_of(run)));
  run.late_ns = 25;
  EXPECT_FALSE(traced_curve(report_of(run)));
}

// The instants at which both kinds hold most are a nanosecond apart from marks.
TEST_F(ExactPeaks, OfAStepIsTheMostFromItsMarkToTheNext) {
  Process run{
      .pid = 1,
      .changes = {{.at_ns = 10, .place = {}, .address = 64, .bytes = 100},
                  {.at_ns = 20, .place = kManaged, .address = 128, .bytes = 30},
                  {.at_ns = 21, .place = kManaged, .address = 128, .bytes = 30, .came = false},
                  {.at_ns = 41, .place = {}, .address = 64, .bytes = 100, .came = false},
                  {.at_ns = 50, .place = {}, .address = 256, .bytes = 7}}};
  run.marks = {{.clock_ns = 6, .name = "step"},  {.clock_ns = 20, .name = "step"},
               {.clock_ns = 30, .name = "step"}, {.clock_ns = 42, .name = "step"},
               {.clock_ns = 43, .name = "end"},  {.clock_ns = 60, .name = "after"}};
  Process other = run;
  other.pid = 2;
  Reports reports = reports_of({run, other});

  make_steps_exact(reports);

  const std::vector<std::uint64_t> wanted{100, 130, 100, 0, 7, 7};
  for (const ReportOfProcess& one : reports) EXPECT_EQ(bytes_of(one.facts.marks), wanted);
  const RanksAnswer answer = ranks_answer(reports, {});
  ASSERT_EQ(answer.steps.size(), 6U);
  for (const NamedSpread& step : answer.steps) {
    EXPECT_EQ(step.from, BytesFrom::trace) << step.name;
    EXPECT_EQ(step.traced, 2U) << step.name;
    EXPECT_EQ(step.spread.most, step.spread.least) << step.name;
  }
}

TEST_F(ExactPeaks, OfAStepBeforeALateTraceStaysRough) {
  Process run = traced_process(1, 10, 20, 70);
  run.changes.push_back({.at_ns = 40, .place = {}, .address = 128, .bytes = 50});
  run.marks = {{.clock_ns = 8, .name = "early"}, {.clock_ns = 35, .name = "late"}};
  Process late = run;
  late.pid = 2;
  late.late_ns = 15;
  Reports reports = reports_of({run, late});

  make_steps_exact(reports);

  EXPECT_EQ(bytes_of(reports[0].facts.marks), (std::vector<std::uint64_t>{70, 50}));
  EXPECT_EQ(bytes_of(reports[1].facts.marks), (std::vector<std::uint64_t>{9999, 50}));
  const RanksAnswer answer = ranks_answer(reports, {});
  EXPECT_EQ(answer.steps.at(0).name, "early");
  EXPECT_EQ(answer.steps.at(0).from, BytesFrom::mixed);
  EXPECT_EQ(answer.steps.at(0).traced, 1U);
  EXPECT_EQ(answer.steps.at(1).from, BytesFrom::trace);
}

// Without a step in common there is nothing for which a trace has to be read.
TEST_F(ExactPeaks, FollowsNoTraceForNothing) {
  Process run = traced_process(1, 10, 20, 70);
  run.marks = {{.clock_ns = 8, .name = "mine"}};
  Process other = traced_process(2, 10, 20, 70);
  Reports reports = reports_of({run, other});
  for (ReportOfProcess& one : reports) one.process.kinds[0].peak_ns = 5;
  std::uint64_t told = 0;

  make_steps_exact(reports, [&](const TrialShare& share) { told += share.of; });

  EXPECT_EQ(told, 0U);
  EXPECT_EQ(reports[0].facts.marks[0].from, BytesFrom::timeline);
}

TEST_F(ExactPeaks, TellsHowFarItIs) {
  Reports reports = reports_of({taking_turns(1), taking_turns(2), taking_turns(3)});
  TrialShare last;

  make_steps_exact(reports, [&](const TrialShare& share) { last = share; });

  EXPECT_EQ(last.of, 9U);
  EXPECT_EQ(last.steps, 9U);
}

// An allocation, or the free of one in `live`.
TracedChange random_change(std::mt19937_64& random, TracedChanges& live, std::uint64_t at_ns) {
  if (live.empty() || random() % 2 == 0) {
    return live.emplace_back(TracedChange{.at_ns = at_ns,
                                          .place = random() % 2 == 0 ? kManaged : Place{},
                                          .address = 4096 * at_ns,
                                          .bytes = 1 + random() % 1000});
  }
  std::swap(live[random() % live.size()], live.back());
  TracedChange change = live.back();
  live.pop_back();
  change.at_ns = at_ns;
  change.came = false;
  return change;
}

// With at least two marks. `steps` becomes the most in each step, by a count at every instant.
Process random_process(std::mt19937_64& random, std::int64_t pid,
                       std::vector<std::uint64_t>& steps) {
  Process run{.pid = pid, .changes = {}};
  std::uint64_t held = 0;
  TracedChanges live;
  for (std::uint64_t i = 0, now = 10; i < 80; ++i, now += 1 + random() % 5) {
    if (i == 7 || i == 20 || random() % 8 == 0) {
      run.marks.push_back({.clock_ns = now++, .name = "step"});
      steps.push_back(held);
    }
    const TracedChange change = random_change(random, live, now);
    run.changes.push_back(change);
    held += change.came ? change.bytes : 0 - change.bytes;
    if (!steps.empty()) steps.back() = std::max(steps.back(), held);
  }
  return run;
}

TEST_F(ExactPeaks, OfRandomProcessesAreThoseOfEveryInstant) {
  std::mt19937_64 random(4711);
  for (int round = 0; round < 40; ++round) {
    std::vector<Process> runs;
    std::vector<std::vector<std::uint64_t>> wanted(2 + random() % 4);
    for (std::vector<std::uint64_t>& steps : wanted)
      runs.push_back(random_process(random, static_cast<int>(runs.size()) + 1, steps));
    Reports reports = reports_of(runs);

    make_steps_exact(reports);

    for (std::size_t i = 0; i < runs.size(); ++i)
      EXPECT_EQ(bytes_of(reports[i].facts.marks), wanted[i]) << "round " << round;
  }
}

}  // namespace
}  // namespace vramscope
