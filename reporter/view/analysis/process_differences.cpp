// Compares each process with the one of the median.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/process_differences.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "reporter/report/memory_name.h"
#include "reporter/report/merged_process.h"
#include "reporter/view/analysis/site_usage.h"
#include "reporter/view/analysis/stacks/stack_front.h"
#include "reporter/view/analysis/subject.h"

namespace vramscope {
namespace {

using Reports = std::vector<ReportOfProcess>;

// How far from the median is worth a line. Times differ by chance, and by how busy a host is.
std::uint64_t least_difference(const Figure& figure, const Spread& spread) {
  constexpr std::uint64_t kLeastBytes = std::uint64_t{1} << 20;
  constexpr std::uint64_t kLeastAllocations = 10;
  constexpr std::uint64_t kLeastNs = 100'000'000;
  if (figure.is_time()) return std::max(kLeastNs, spread.median);
  return std::max(figure.is_bytes() ? kLeastBytes : kLeastAllocations, spread.median / 10 + 1);
}

// More than a tenth from the median is, from 1 MiB or 10 allocations on, and more than twice the
// median and 0.1 s more of times. Of the peak all above it,
// the highest first, then all below it, the least first; likewise of what is held at the end; of
// other figures the highest and the least.
std::vector<Outlier> outliers(const Reports& reports, const Figure& figure, const Spread& spread) {
  const std::uint64_t least = least_difference(figure, spread);
  const auto differs = [&](std::uint64_t low, std::uint64_t high) {
    return high > low && high - low >= least;
  };
  // On one side of the median, the farthest first.
  const auto beyond = [&](bool is_above) {
    std::vector<Outlier> side;
    for (std::size_t i = 0; i < reports.size(); ++i) {
      const bool lists_all =
          figure.is_peak() || figure.is_left() || figure.is_of_host() || figure.is_of_kind();
      if (!lists_all && i != (is_above ? spread.most_in : spread.least_in)) continue;
      const std::uint64_t number = figure.of(reports[i]);
      const bool is_beyond =
          is_above ? differs(spread.median, number) : differs(number, spread.median);
      if (is_beyond) side.push_back({i, number, is_above});
    }
    std::stable_sort(side.begin(), side.end(), [&](const Outlier& a, const Outlier& b) {
      return is_above ? a.number > b.number : a.number < b.number;
    });
    return side;
  };
  std::vector<Outlier> found = beyond(/*is_above=*/true);
  const std::vector<Outlier> below = beyond(/*is_above=*/false);
  found.insert(found.end(), below.begin(), below.end());
  return found;
}

bool one_program(const Reports& reports) {
  return std::all_of(reports.begin(), reports.end(), [&](const ReportOfProcess& one) {
    return one.process.process.executable == reports.front().process.process.executable;
  });
}

// Ranks do the same on devices of their own: the first device of one is compared with the first of
// the other, if both used as many.
void number_devices_as(const Report& model, Report& report) {
  const std::vector<std::uint16_t> from = devices_used(report.kinds);
  const std::vector<std::uint16_t> to = devices_used(model.kinds);
  if (from.size() != to.size()) return;
  const auto renumber = [&](std::uint16_t& device) {
    const auto found = std::find(from.begin(), from.end(), device);
    if (found != from.end()) device = to[static_cast<std::size_t>(found - from.begin())];
  };
  for (KindFacts& kind : report.kinds) renumber(kind.device);
  for (JointPeak& joint : report.joint_peaks) renumber(joint.facts.device);
  for (Site& site : report.sites) {
    for (SitePart& part : site.parts) renumber(part.device);
  }
}

bool has_joint_peak(const Report& report, std::uint16_t device) {
  return std::any_of(report.joint_peaks.begin(), report.joint_peaks.end(),
                     [&](const JointPeak& joint) { return joint.facts.device == device; });
}

// A site's memory of a device, whatever its kind, when all kinds together were at their peak.
void add_to_device(Site& site, std::uint16_t device, std::uint64_t bytes, std::uint64_t count) {
  auto part = std::find_if(site.parts.begin(), site.parts.end(),
                           [&](const SitePart& one) { return one.device == device; });
  if (part == site.parts.end()) {
    part = site.parts.insert(part, SitePart{.kind = Kind::device, .device = device, .totals = {}});
  }
  part->totals.peak_bytes += bytes;
  part->totals.peak_count += count;
  ++part->totals.total_count;
}

// Leaves what sites held of each device at one instant: at the peak of all its kinds together, or
// of its one kind. Of a device with several kinds and no such instant nothing is left.
void keep_device_peaks(Report& report) {
  const std::vector<KindFacts> kinds = report.kinds;
  std::vector<Site> sites = report.sites;
  for (Site& site : report.sites) site.parts.clear();
  for (const KindFacts& kind : kinds) {
    const auto is_beside = [&](const KindFacts& other) {
      return takes_device_memory(other.kind) && other.device == kind.device &&
             other.kind != kind.kind && other.peak_bytes != 0;
    };
    const bool is_alone = takes_device_memory(kind.kind) && !has_joint_peak(report, kind.device) &&
                          std::none_of(kinds.begin(), kinds.end(), is_beside);
    for (std::size_t i = 0; is_alone && i < sites.size(); ++i) {
      for (const SitePart& part : sites[i].parts) {
        const SiteTotals& totals = numbers_of(part);
        if (part.kind == kind.kind && part.device == kind.device)
          add_to_device(report.sites[i], part.device, totals.peak_bytes, totals.peak_count);
      }
    }
  }
  for (const JointPeak& joint : report.joint_peaks) {
    for (const OomShare& share : joint.shares) {
      const auto site = static_cast<std::size_t>(share.site);
      if (share.site < 0 || site >= report.sites.size()) continue;
      add_to_device(report.sites[site], joint.facts.device, share.live_bytes, share.live_count);
    }
  }
}

// Whether the difference of all kinds on the device, or on the host, names the process already.
bool tells_of_process(const std::vector<ProcessDifference>& all, const Figure& kind,
                      const Outlier& one) {
  const bool is_of_host = !takes_device_memory(kind.kind);
  return std::ranges::any_of(all, [&](const ProcessDifference& difference) {
    const bool is_its = is_of_host ? difference.figure->is_of_host() : difference.figure->is_peak();
    return is_its && std::ranges::any_of(difference.outliers, [&](const Outlier& told) {
             return told.which == one.which && told.is_above == one.is_above;
           });
  });
}

// Joins rows that read alike because their stacks differ only in frames that rows leave out, as
// those of a framework's allocators do.
std::vector<Difference> joined(const std::vector<Difference>& rows) {
  using Frames = std::vector<std::pair<std::string, std::string>>;
  std::map<std::tuple<Kind, std::uint16_t, Frames>, std::size_t> known;
  std::vector<Difference> all;
  for (const Difference& row : rows) {
    CallSite stack;
    for (const auto& caller : row.callers()) stack.callers.push_back(*caller);
    Frames frames;
    for (const Caller& caller : folded(stack).callers) {
      frames.emplace_back(caller.function, caller.place);
    }
    const auto [found, is_new] = known.try_emplace({row.kind, row.device, frames}, all.size());
    if (is_new) {
      all.push_back(row);
      continue;
    }
    const auto add = [](DiffSide& sum, const DiffSide& more) {
      if (!sum.is_there) return void(sum = more);
      sum.bytes += more.bytes;
      sum.count += more.count;
    };
    add(all[found->second].before, row.before);
    add(all[found->second].after, row.after);
  }
  std::stable_sort(all.begin(), all.end(), [](const Difference& a, const Difference& b) {
    return std::abs(a.change()) > std::abs(b.change());
  });
  return all;
}

// Kinds of host memory peak at times of their own: of one of them rows add up to no more than it.
void keep_one_kind(std::vector<Difference>& rows) {
  if (rows.empty()) return;
  const Kind kind = rows.front().kind;
  std::erase_if(rows, [&](const Difference& row) { return row.kind != kind; });
}

}  // namespace

std::vector<Difference> sites_behind(const Reports& reports, const Spread& spread,
                                     const Outlier& outlier, bool is_of_host,
                                     const RunsNaming& naming) {
  const ReportOfProcess& one = reports[outlier.which];
  const ReportOfProcess& median = reports[spread.median_in];
  if (!naming.read_again) return {};
  std::optional<Report> before = read_own(median, naming);
  std::optional<Report> after = read_own(one, naming);
  if (!before || !after) return {};
  number_devices_as(*after, *before);
  if (!is_of_host) {
    keep_device_peaks(*before);
    keep_device_peaks(*after);
  }
  std::vector<Difference> rows =
      joined(differences(*before, *after, DiffBy::site, DiffAt::peak, naming.name).rows);
  std::erase_if(rows, [&](const Difference& row) {
    return takes_device_memory(row.kind) == is_of_host || (row.change() > 0) != outlier.is_above;
  });
  if (is_of_host) keep_one_kind(rows);
  constexpr std::size_t kRows = 3;
  if (rows.size() > kRows) rows.resize(kRows);
  return rows;
}

std::vector<FigureRow> figure_rows(const Reports& reports) {
  std::vector<FigureRow> rows;
  for (const Figure& figure : figures_of_processes()) {
    rows.push_back({&figure, spread_of(reports, figure)});
  }
  return rows;
}

std::vector<ProcessDifference> kind_rows(const Reports& reports) {
  std::vector<ProcessDifference> rows;
  for (const Figure& figure : figures_of_kinds()) {
    const Spread spread = spread_of(reports, figure);
    if (spread.most == 0) continue;
    rows.push_back({.figure = &figure, .spread = spread});
    if (one_program(reports)) rows.back().outliers = outliers(reports, figure, spread);
  }
  return rows;
}

std::vector<OutlierRow> outlier_rows(const Reports& reports) {
  if (reports.size() < 2 || !one_program(reports)) return {};
  const Spread spread = spread_of(reports, peak_figure());
  std::vector<OutlierRow> rows;
  for (const Outlier& one : outliers(reports, peak_figure(), spread))
    rows.push_back({one, spread, rows.size() < kMostCompared});
  return rows;
}

std::vector<ProcessDifference> process_differences(const Reports& reports, const RunsNaming& naming,
                                                   std::size_t most) {
  if (reports.size() < 2 || !one_program(reports)) return {};
  std::vector<ProcessDifference> all;
  for (const Figure& figure : figures_of_processes()) {
    ProcessDifference& one = all.emplace_back(
        ProcessDifference{.figure = &figure, .spread = spread_of(reports, figure)});
    one.outliers = outliers(reports, figure, one.spread);
    if (!figure.is_peak() && !figure.is_of_host()) continue;
    for (std::size_t i = 0; i < std::min(most, one.outliers.size()); ++i) {
      const bool is_of_host = figure.is_of_host() || reports[one.outliers[i].which].is_of_host;
      one.sites.push_back(sites_behind(reports, one.spread, one.outliers[i], is_of_host, naming));
    }
  }
  for (ProcessDifference& of_kind : kind_rows(reports)) {
    // A peak of one kind adds nothing where the peak of all kinds tells the same of a process.
    std::erase_if(of_kind.outliers,
                  [&](const Outlier& one) { return tells_of_process(all, *of_kind.figure, one); });
    if (!of_kind.outliers.empty()) all.push_back(std::move(of_kind));
  }
  return all;
}

std::size_t first_to_open(const Reports& reports) {
  for (std::size_t i = 0; i < reports.size(); ++i) {
    if (!death_word(reports[i].process).empty()) return i;
  }
  if (reports.size() < 2 || !one_program(reports)) return 0;
  for (const Figure& figure : figures_of_processes()) {
    const auto found = outliers(reports, figure, spread_of(reports, figure));
    if (!found.empty()) return found.front().which;
  }
  return 0;
}

}  // namespace vramscope
