// Reads marks, axes and the timeline.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/rank_facts.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>

#include "reporter/report/report.h"
#include "reporter/view/analysis/run_timeline.h"
#include "reporter/view/analysis/subject.h"

namespace vramscope {
namespace {

// Owners as reports name them.
constexpr auto kLibraries =
    std::to_array<std::string_view>({"NCCL", "NVSHMEM", "MPI", "UCX", "Gloo"});

// Not what was allocated in none, or in those for which there was no room.
bool is_range(std::string_view value) {
  return !value.empty() && value != "none" && value != "others" && value != "unknown";
}

std::vector<RunCurve> device_curves(const Report& report) {
  std::vector<RunCurve> curves;
  for (const TimelineSeries& series : report.timeline.series) {
    if (!takes_device_memory(series.kind)) continue;
    curves.push_back({.kind = series.kind,
                      .device = series.device,
                      .bucket_ns = series.bucket_ns,
                      .highest = series.highest,
                      .last = series.last});
  }
  return curves;
}

std::vector<NamedBytes> by_mark(const Report& report) {
  std::vector<NamedInstant> marks = report.marks;
  std::ranges::stable_sort(marks, {}, &NamedInstant::time_ns);
  const std::vector<RunCurve> curves = device_curves(report);
  const std::vector<std::string> names = step_names(marks);
  std::vector<NamedBytes> steps;
  for (std::size_t i = 0; i < marks.size(); ++i) {
    const std::uint64_t end_ns =
        i + 1 < marks.size() ? marks[i + 1].time_ns : report.timeline.duration_ns;
    NamedBytes step{.name = names[i], .from = BytesFrom::timeline};
    for (const RunCurve& curve : curves)
      step.bytes += curve.highest_between(marks[i].time_ns, std::max(end_ns, marks[i].time_ns + 1));
    steps.push_back(std::move(step));
  }
  return steps;
}

template <class IsWanted>
std::vector<NamedBytes> by_value(const Report& report, Axis axis, IsWanted&& is_wanted) {
  std::map<std::string, NamedBytes> values;
  for (const AxisEntry& entry : report.axes) {
    if (entry.axis != axis || !is_wanted(entry)) continue;
    const auto [value, is_first] = values.try_emplace(entry.value);
    value->second.name = entry.value;
    value->second.bytes += std::max(entry.own_peak_bytes, entry.totals.peak_bytes);
    value->second.is_exact = is_first;  // of several kinds or devices the sum of their peaks
  }
  std::vector<NamedBytes> all;
  for (auto& [name, value] : values) all.push_back(std::move(value));
  return all;
}

}  // namespace

std::vector<std::string> step_names(const std::vector<NamedInstant>& marks) {
  std::map<std::string, std::size_t> times, seen;
  for (const NamedInstant& mark : marks) ++times[mark.name];
  std::vector<std::string> names;
  for (const NamedInstant& mark : marks) {
    const std::string number = "#" + std::to_string(++seen[mark.name]);
    names.push_back(mark.name + (times[mark.name] == 1 ? "" : number));
  }
  return names;
}

RankFacts rank_facts_of(const Report& report) {
  if (is_merged(report)) return {};
  return {.marks = by_mark(report),
          .ranges = by_value(report, Axis::range,
                             [](const AxisEntry& entry) {
                               return takes_device_memory(entry.kind) && is_range(entry.value);
                             }),
          .libraries = by_value(report, Axis::owner, [](const AxisEntry& entry) {
            return holds_memory(entry.kind) &&
                   std::ranges::find(kLibraries, entry.value) != kLibraries.end();
          })};
}

}  // namespace vramscope
