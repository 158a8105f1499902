// What a process held, by the kinds of memory that count, and how that differs among processes.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/process_figures.h"

#include <algorithm>
#include <set>
#include <utility>

#include "reporter/report/memory_name.h"
#include "reporter/report/merge_processes.h"
#include "reporter/view/analysis/peaks/device_sum.h"

namespace vramscope {
namespace {

using Reports = std::vector<ReportOfProcess>;

std::uint64_t highest_of(const ReportOfProcess& one) { return peak_bounds(one).upper; }
std::uint64_t allocations_by(const ReportOfProcess& one) { return allocations_of(one.process); }
PeakBounds host_bounds(const MergedProcess& process) {
  return peak_bounds(process, is_of_host_memory);
}
std::uint64_t reserved_by(const ReportOfProcess& one) { return reserved_bounds(one.process).upper; }
std::uint64_t needed_by(const ReportOfProcess& one) { return needed_of(one.process); }
std::uint64_t time_by(const ReportOfProcess& one) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(one.process.allocating_ns, 0));
}
std::uint64_t host_peak_by(const ReportOfProcess& one) { return host_bounds(one.process).upper; }

std::vector<Figure> all_kinds() {
  std::vector<Figure> figures;
  for (std::size_t i = 0; i < kKinds; ++i) {
    const auto kind = static_cast<Kind>(i);
    if (!holds_memory(kind)) continue;
    const std::string name = kind == Kind::device ? "plain GPU" : kind_text(kind);
    figures.push_back({.what = FigureOf::kind, .name = name + " memory", .kind = kind});
  }
  return figures;
}

}  // namespace

std::vector<std::uint16_t> devices_used(const std::vector<KindFacts>& kinds) {
  std::set<std::uint16_t> devices;
  for (const KindFacts& kind : kinds) {
    if (takes_device_memory(kind.kind) && kind.peak_bytes != 0) devices.insert(kind.device);
  }
  return {devices.begin(), devices.end()};
}

bool are_of_one_program(const Reports& reports) {
  return reports.size() > 1 && std::ranges::all_of(reports, [&](const ReportOfProcess& one) {
           return one.process.process.executable == reports.front().process.process.executable;
         });
}

bool is_of_host_memory(const KindFacts& kind) {
  return holds_memory(kind.kind) && !takes_device_memory(kind.kind);
}

std::uint64_t Figure::of(const ReportOfProcess& one) const {
  if (!is_of_kind()) return of_process(one);
  std::uint64_t sum = 0;
  for (const KindFacts& held : one.process.kinds) {
    if (held.kind == kind) sum += held.peak_bytes;
  }
  return sum;
}

std::span<const Figure> figures_of_processes() {
  static const std::vector<Figure> kFigures{
      {FigureOf::peak, "peak", highest_of},
      {FigureOf::reserved, "reserved (all kinds)", reserved_by},
      {FigureOf::needed, "needed (all kinds)", needed_by},
      {FigureOf::left, "at the end", held_by},
      {FigureOf::host, "host memory", host_peak_by},
      {FigureOf::allocations, "allocations", allocations_by},
      {FigureOf::time, "allocating took", time_by}};
  return kFigures;
}

std::span<const Figure> figures_of_kinds() {
  static const std::vector<Figure> kFigures = all_kinds();
  return kFigures;
}

Spread spread_of(const Reports& reports, const Figure& figure) {
  std::vector<std::uint64_t> numbers;
  for (const ReportOfProcess& one : reports) numbers.push_back(figure.of(one));
  return spread_of(reports, numbers);
}

Spread spread_of(const Reports& reports, const std::vector<std::uint64_t>& numbers) {
  std::vector<std::pair<std::uint64_t, std::size_t>> all;
  for (std::size_t i = 0; i < numbers.size(); ++i) all.emplace_back(numbers[i], i);
  std::stable_sort(all.begin(), all.end(), [&](const auto& a, const auto& b) {
    if (a.first != b.first) return a.first < b.first;
    return comes_before(reports[a.second].process, reports[b.second].process);
  });
  const auto first_with = [&](std::uint64_t number) {
    return std::find_if(all.begin(), all.end(),
                        [&](const auto& one) { return one.first == number; })
        ->second;
  };
  const std::uint64_t low = all[(all.size() - 1) / 2].first;
  return {.least = all.front().first,
          .median = middle_of(low, all[all.size() / 2].first),
          .most = all.back().first,
          .least_in = all.front().second,
          .median_in = first_with(low),
          .most_in = first_with(all.back().first)};
}

void choose_memory(Reports& reports) {
  const auto has = [&](auto is_wanted) {
    return std::any_of(reports.begin(), reports.end(), [&](const ReportOfProcess& one) {
      return std::any_of(
          one.process.kinds.begin(), one.process.kinds.end(),
          [&](const KindFacts& kind) { return kind.peak_bytes != 0 && is_wanted(kind); });
    });
  };
  const bool is_of_host = has(is_of_host_memory) && !has([](const KindFacts& kind) {
                            return takes_device_memory(kind.kind);
                          });
  for (ReportOfProcess& one : reports) one.is_of_host = is_of_host;
}

std::uint64_t held_by(const ReportOfProcess& one) {
  if (!one.is_of_host) return current_of(one.process);
  std::uint64_t sum = 0;
  for (const KindFacts& kind : one.process.kinds) {
    if (is_of_host_memory(kind)) sum += kind.current_bytes;
  }
  return sum;
}

PeakBounds figure_bounds(const ReportOfProcess& one, const Figure& figure) {
  switch (figure.what) {
    case FigureOf::peak:
      return peak_bounds(one);
    case FigureOf::reserved:
      return reserved_bounds(one.process);
    case FigureOf::needed:
      return {peak_bounds(one.process).lower, needed_of(one.process)};
    case FigureOf::host:
      return host_bounds(one.process);
    case FigureOf::left:
    case FigureOf::allocations:
    case FigureOf::time:
    case FigureOf::kind:
      break;
  }
  return {figure.of(one), figure.of(one)};
}

PeakBounds peak_bounds(const ReportOfProcess& one) {
  if (one.peak) return *one.peak;
  if (one.is_of_host) return host_bounds(one.process);
  if (one.traced_peak) return {.lower = one.traced_peak->bytes, .upper = one.traced_peak->bytes};
  return peak_bounds(one.process);
}

}  // namespace vramscope
