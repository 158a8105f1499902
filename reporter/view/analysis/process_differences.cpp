// Compares each process with the one of the median.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/process_differences.h"

#include <algorithm>
#include <optional>

#include "reporter/report/memory_name.h"
#include "reporter/report/merged_process.h"
#include "reporter/view/analysis/subject.h"

namespace vramscope {
namespace {

using Reports = std::vector<ReportOfProcess>;

// More than a tenth from the median is, from 1 MiB or 10 allocations on. Of the peak all above it,
// the highest first, then all below it, the least first; likewise of what is held at the end; of
// other figures the highest and the least.
std::vector<Outlier> outliers(const Reports& reports, const Figure& figure, const Spread& spread) {
  const std::uint64_t least_difference = figure.is_bytes() ? std::uint64_t{1} << 20 : 10;
  const auto differs = [&](std::uint64_t low, std::uint64_t high) {
    return high > low && high - low >= least_difference && high - low > spread.median / 10;
  };
  // On one side of the median, the farthest first.
  const auto beyond = [&](bool is_above) {
    std::vector<Outlier> side;
    for (std::size_t i = 0; i < reports.size(); ++i) {
      const bool lists_all = figure.is_peak() || figure.is_left() || figure.is_of_host();
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
  for (Site& site : report.sites) {
    for (SitePart& part : site.parts) renumber(part.device);
  }
}

}  // namespace

std::vector<Difference> sites_behind(const Reports& reports, const Spread& spread,
                                     const Outlier& outlier, bool is_of_host,
                                     const RunsNaming& naming) {
  const ReportOfProcess& one = reports[outlier.which];
  const ReportOfProcess& median = reports[spread.median_in];
  if (!naming.read_again) return {};
  std::optional<Report> before = read_own(median, naming);
  const std::optional<Report> after = read_own(one, naming);
  if (!before || !after) return {};
  number_devices_as(*after, *before);
  std::vector<Difference> rows =
      differences(*before, *after, DiffBy::site, DiffAt::peak, naming.name).rows;
  std::erase_if(rows, [&](const Difference& row) {
    return takes_device_memory(row.kind) == is_of_host || (row.change() > 0) != outlier.is_above;
  });
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

std::vector<OutlierRow> outlier_rows(const Reports& reports) {
  if (reports.size() < 2 || !one_program(reports)) return {};
  const Spread spread = spread_of(reports, peak_figure());
  std::vector<OutlierRow> rows;
  for (const Outlier& one : outliers(reports, peak_figure(), spread)) rows.push_back({one, spread});
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
