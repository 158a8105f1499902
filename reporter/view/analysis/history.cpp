// Adds up each run, and fits its program's peaks.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/history.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "reporter/report/files/file_name.h"
#include "reporter/report/merged_process.h"
#include "reporter/report/report.h"
#include "reporter/view/analysis/leaks/leaked_shares.h"
#include "reporter/view/analysis/peaks/device_sum.h"
#include "reporter/view/analysis/process_figures.h"
#include "reporter/view/analysis/subject.h"

namespace vramscope {
namespace {

constexpr std::uint64_t kDayNs = 86'400'000'000'000;
constexpr double kWeekNs = 7.0 * static_cast<double>(kDayNs);

// Scripts of one interpreter are several programs.
using Program = std::pair<std::string, std::string>;
Program program_of(const PastRun& run) { return {run.program, run.name}; }

std::string key_of(const Report& report, const std::string& file, const std::string& run) {
  if (!run.empty()) return "run " + run;
  return report.process.job.empty() ? "file " + file : "job " + report.process.job;
}

// A report of several has the sum of theirs.
std::uint64_t leaked_bytes(const Report& report, const NameFrame& name) {
  std::uint64_t bytes = 0;
  for (const Share& share : leaked_of(report, name).shares) bytes += share.bytes;
  return bytes;
}

void add_process(PastRun& run, const MergedProcess& process) {
  const ProcessFacts& facts = process.process;
  const std::string label = label_of(facts);
  const bool is_first = run.processes == 0;
  if (is_first) run.label = label;
  if (run.label != label) run.label.clear();
  const bool is_earlier =
      is_first || (facts.start_time_ns != 0 && facts.start_time_ns < run.start_ns);
  if (is_earlier) run.start_ns = facts.start_time_ns;
  if (run.program.empty()) {
    run.program = facts.executable;
    run.name = program_name(facts.executable, facts.arguments);
  }
  ++run.processes;
  run.died += has_died(process) ? 1 : 0;
  run.peak_bytes = std::max(run.peak_bytes, peak_bounds(process).upper);
  run.allocations += allocations_of(process);
}

// The middle of the growths between any two runs, which few odd ones do not move. Of many runs a
// few hundred are enough.
double median_growth(const std::vector<std::pair<double, double>>& points) {
  constexpr std::size_t kMostPoints = 400;
  const std::size_t step = points.size() / kMostPoints + 1;
  std::vector<double> slopes;
  for (std::size_t i = 0; i < points.size(); i += step) {
    for (std::size_t j = i + step; j < points.size(); j += step) {
      const double apart = points[j].first - points[i].first;
      if (apart > 0) slopes.push_back((points[j].second - points[i].second) / apart);
    }
  }
  if (slopes.empty()) return 0;
  const auto middle = slopes.begin() + static_cast<std::ptrdiff_t>(slopes.size() / 2);
  std::nth_element(slopes.begin(), middle, slopes.end());
  if (slopes.size() % 2 != 0) return *middle;
  return (*middle + *std::max_element(slopes.begin(), middle)) / 2;
}

// runs: of one program, the oldest first.
PeakTrend trend_of(const std::vector<const PastRun*>& runs) {
  PeakTrend trend{.program = runs.front()->program,
                  .name = runs.front()->name,
                  .runs = runs.size(),
                  .first_ns = runs.front()->start_ns,
                  .last_ns = runs.back()->start_ns,
                  .first_bytes = runs.front()->peak_bytes,
                  .last_bytes = runs.back()->peak_bytes};
  std::vector<std::pair<double, double>> points;  // weeks, logarithm of the peak
  for (const PastRun* run : runs) {
    points.emplace_back(static_cast<double>(run->start_ns - trend.first_ns) / kWeekNs,
                        std::log(static_cast<double>(run->peak_bytes)));
  }
  constexpr double kPercent = 100;
  trend.percent_a_week = kPercent * std::expm1(median_growth(points));
  return trend;
}

}  // namespace

std::string label_of(const ProcessFacts& process) {
  for (const auto& [name, value] : process.options) {
    if (name == "label") return value;
  }
  return "";
}

void RunLog::add(const Report& report, const std::string& file, const std::string& run) {
  PastRun& past = by_key_[key_of(report, file, run)];
  if (past.file.empty()) past.file = run.empty() ? file : run;
  for (const MergedProcess& process : merged_processes(report)) add_process(past, process);
  past.leaked_bytes = std::max(past.leaked_bytes, leaked_bytes(report, name_));
}

std::vector<PastRun> RunLog::runs() const {
  std::vector<PastRun> all;
  for (const auto& [key, run] : by_key_) all.push_back(run);
  std::stable_sort(all.begin(), all.end(),
                   [](const PastRun& a, const PastRun& b) { return a.start_ns < b.start_ns; });
  std::map<Program, std::uint64_t> last;
  for (PastRun& run : all) {
    const auto [known, is_first] = last.try_emplace(program_of(run), run.peak_bytes);
    if (!is_first) {
      run.before_bytes = known->second;
      run.change_bytes = static_cast<std::int64_t>(run.peak_bytes - known->second);
    }
    known->second = run.peak_bytes;
  }
  std::reverse(all.begin(), all.end());
  return all;
}

std::vector<PeakTrend> RunLog::trends(const std::vector<PastRun>& runs) {
  constexpr std::size_t kLeastRuns = 3;
  std::map<Program, std::vector<const PastRun*>> by_program;
  for (auto run = runs.rbegin(); run != runs.rend(); ++run) {
    if (run->start_ns != 0 && run->peak_bytes != 0) by_program[program_of(*run)].push_back(&*run);
  }
  std::vector<PeakTrend> trends;
  for (const auto& [program, its] : by_program) {
    const bool is_long = its.back()->start_ns - its.front()->start_ns >= kDayNs;
    if (its.size() >= kLeastRuns && is_long) trends.push_back(trend_of(its));
  }
  return trends;
}

}  // namespace vramscope
