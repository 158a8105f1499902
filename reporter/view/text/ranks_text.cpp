// Figures of the processes as rows, what differs below, and by which call sites.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/ranks_text.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include "allocator/ground/place.h"
#include "reporter/report/memory_name.h"
#include "reporter/report/merged_process.h"
#include "reporter/view/analysis/diff/diff.h"
#include "reporter/view/analysis/peaks/device_sum.h"
#include "reporter/view/analysis/process_figures.h"
#include "reporter/view/analysis/stacks/stack_front.h"
#include "reporter/view/analysis/subject.h"
#include "reporter/view/listing/caller_names.h"
#include "reporter/view/listing/site_columns.h"
#include "reporter/view/text/process_text.h"

namespace vramscope {
namespace {

using enum Table::Align;
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

// "at most" of a peak that is known by bounds.
std::string bound_word(const Figure& figure, const ReportOfProcess& one) {
  if (!figure.is_peak()) return "";
  const PeakBounds bounds = peak_bounds(one);
  return bounds.lower == bounds.upper ? "" : "at most ";
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

// What the outlier held more, or less, at its peak than the process of the median at its own, the
// largest difference first. Nothing where the reports of both cannot be had.
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

// Whose the figures beside those of an outlier are.
std::string median_word(const Reports& reports, const Figure& figure, const Spread& spread) {
  const ReportOfProcess& one = reports[spread.median_in];
  return figure.of(one) == spread.median ? "the median" : named_process(one.process.process);
}

std::string site_text(const Difference& row, const std::string& median, const Page& page) {
  constexpr std::size_t kFrames = 3;
  CallSite stack;
  for (const auto& caller : row.callers()) stack.callers.push_back(*caller);
  stack = without_standard_front(folded(stack));
  stack.callers.resize(std::min(kFrames, stack.callers.size()));
  const std::string text = printable(vramscope::text(stack), page);
  const std::string line = std::string(row.change() > 0 ? "+" : "-") +
                           bytes_text(row.change() > 0 ? row.change() : -row.change()) + "  " +
                           text + "  (" + amount_text(row.after.bytes) + ", " + median + " " +
                           amount_text(row.before.bytes) + ")";
  return paragraph(line, page, 4);
}

// "rank 3 (4711): peak 222 MiB, 96.0 MiB above the median of 126 MiB".
std::string outlier_text(const Reports& reports, const Figure& figure, const Spread& spread,
                         const Outlier& one, const Page& page) {
  const std::uint64_t apart =
      one.is_above ? one.number - spread.median : spread.median - one.number;
  const std::string most = bound_word(figure, reports[one.which]);
  return paragraph(named_process(reports[one.which].process.process) + ": " + figure.name + " " +
                       most + number_text(figure, one.number) + ", " + most +
                       number_text(figure, apart) + (one.is_above ? " above" : " below") +
                       " the median of " + number_text(figure, spread.median),
                   page);
}

// Of one figure. Processes with a line already, `told`, have the table alone.
std::string difference_text(const Reports& reports, const Figure& figure, const Spread& spread,
                            std::map<std::size_t, const Figure*>& told, const RunsNaming& naming,
                            const Page& page) {
  // Of the peak. Rows of the table are worth more than those that come after the highest.
  const std::size_t most_told = page.is_brief ? 2 : 4;
  const std::vector<Outlier> found = outliers(reports, figure, spread);
  const std::size_t shown = std::min(most_told, found.size());
  std::string text;
  for (std::size_t i = 0; i < shown; ++i) {
    const Outlier& one = found[i];
    const auto [known, is_new] = told.emplace(one.which, &figure);
    // What is left is a story of its own, unless the peak has told it.
    const bool is_left = figure.is_left() && known->second->is_reserved();
    if (!is_new && !is_left && !figure.is_of_host()) continue;
    text += outlier_text(reports, figure, spread, one, page);
    if (!figure.is_peak() && !figure.is_of_host()) continue;
    const bool is_of_host = figure.is_of_host() || reports[one.which].is_of_host;
    std::vector<Difference> rows = sites_behind(reports, spread, one, is_of_host, naming);
    const std::size_t most = page.is_brief || found.size() > 2 ? 1 : rows.size();
    if (rows.size() > most) rows.resize(most);
    for (const Difference& row : rows)
      text += site_text(row, median_word(reports, figure, spread), page);
  }
  if (shown < found.size()) {
    const std::size_t more = found.size() - shown;
    text += paragraph(count_text(more) + (more == 1 ? " more is" : " more are") +
                          " more than a tenth away from it",
                      page);
  }
  return text;
}

bool one_program(const Reports& reports) {
  return std::all_of(reports.begin(), reports.end(), [&](const ReportOfProcess& one) {
    return one.process.process.executable == reports.front().process.process.executable;
  });
}

}  // namespace

std::vector<std::uint16_t> devices_used(const std::vector<KindFacts>& kinds) {
  std::set<std::uint16_t> devices;
  for (const KindFacts& kind : kinds) {
    if (takes_device_memory(kind.kind) && kind.peak_bytes != 0) devices.insert(kind.device);
  }
  return {devices.begin(), devices.end()};
}

std::string host_memory_text(const Reports& reports, const Page& page) {
  if (!reports.empty() && reports.front().is_of_host) {
    return paragraph("PEAK and NOW are of host memory: no other passes or was allocated", page);
  }
  std::map<Kind, std::uint64_t> highest;
  for (const ReportOfProcess& one : reports) {
    for (const KindFacts& kind : one.process.kinds) {
      if (is_of_host_memory(kind) && kind.peak_bytes != 0)
        highest[kind.kind] = std::max(highest[kind.kind], kind.peak_bytes);
    }
  }
  std::string text;
  for (const auto& [kind, bytes] : highest) {
    text += (text.empty() ? "" : ", ") + amount_text(bytes) + " " + kind_text(kind);
  }
  return text.empty()
             ? text
             : paragraph("PEAK and NOW exclude host memory: a process held up to " + text, page);
}

std::string own_file(const ReportOfProcess& one) {
  namespace fs = std::filesystem;
  if (!one.is_merged) return one.file;
  const fs::path was = one.process.report;
  const fs::path beside = fs::path(one.file).parent_path() / was.filename();
  for (const fs::path& candidate : {beside, was}) {
    std::error_code error;
    if (!was.empty() && fs::is_regular_file(candidate, error)) return candidate.string();
  }
  return {};
}

std::optional<Report> read_own(const ReportOfProcess& one, const RunsNaming& naming) {
  if (!naming.read_again) return std::nullopt;
  const std::string file = own_file(one);
  std::optional<Report> report = file.empty() ? std::nullopt : naming.read_again(file);
  const bool is_its = report && !is_merged(*report) &&
                      identity_of(report->process) == identity_of(one.process.process);
  return is_its ? std::move(report) : std::nullopt;
}

std::string ranks_text(const Reports& reports, const RunsNaming& naming, const Page& page,
                       Figures figures) {
  if (reports.size() < 2 || !one_program(reports)) return "";
  Table table({{"", left},
               {"MIN", right},
               {"MEDIAN", right},
               {"MAX", right},
               {"MIN IN", left, 1},
               {"MAX IN", left}});
  std::string differences;
  std::map<std::size_t, const Figure*> told;
  for (const Figure& figure : figures_of_processes()) {
    const Spread spread = spread_of(reports, figure);
    if (figures == Figures::left_out && !figure.is_peak()) continue;
    // Host memory is the peak where there is nothing else.
    if (figure.is_of_host() && (spread.most == 0 || reports.front().is_of_host)) continue;
    const bool equal = spread.least == spread.most;
    const auto who = [&](std::size_t which) {
      if (equal) return std::string("-");
      const auto is_same = [&](const ReportOfProcess& one) {
        return figure.of(one) == figure.of(reports[which]);
      };
      const auto same = std::count_if(reports.begin(), reports.end(), is_same);
      return same == 1 ? process_text(reports[which].process.process)
                       : std::to_string(same) + " of " + std::to_string(reports.size());
    };
    const auto number = [&](std::size_t which, std::uint64_t value) {
      const bool is_bound = !bound_word(figure, reports[which]).empty();
      return (is_bound ? "<= " : "") + number_text(figure, value);
    };
    table.add({figure.name, number(spread.least_in, spread.least),
               number(spread.median_in, spread.median), number(spread.most_in, spread.most),
               who(spread.least_in), who(spread.most_in)});
    differences += difference_text(reports, figure, spread, told, naming, page);
  }
  std::string text;
  if (figures == Figures::shown) {
    text = "\n" + coloured("Among the processes", Colour::bold, page) + "\n" + table.text(page) +
           table.left_out(page);
  }
  if (!differences.empty()) text += "\n" + coloured("Differences", Colour::bold, page) + "\n";
  return text + differences;
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

std::vector<FigureRow> figure_rows(const Reports& reports) {
  std::vector<FigureRow> rows;
  for (const Figure& figure : figures_of_processes()) {
    rows.push_back({&figure, spread_of(reports, figure)});
  }
  return rows;
}

Columns<FigureRow> figure_columns(const Reports& reports) {
  using Row = FigureRow;
  const InUnit in_unit("the field's");
  const auto of = within(&Row::spread);
  const auto pid = [&reports](std::size_t Spread::*which) {
    return [&reports, which](const Row& row) {
      return reports[row.spread.*which].process.process.pid;
    };
  };
  return {{"figure", "field of a process's row", [](const Row& row) { return row.figure->field(); },
           OneOf(kFigureFields)},
          {"min", "least", of(&Spread::least), in_unit},
          {"median", "median; of an even number the mean of the middle two", of(&Spread::median),
           in_unit},
          {"max", "most", of(&Spread::most), in_unit},
          {"min_pid", "process that has the least", pid(&Spread::least_in)},
          {"max_pid", "process that has the most", pid(&Spread::most_in)}};
}

std::vector<OutlierRow> outlier_rows(const Reports& reports) {
  if (reports.size() < 2 || !one_program(reports)) return {};
  const Spread spread = spread_of(reports, peak_figure());
  std::vector<OutlierRow> rows;
  for (const Outlier& one : outliers(reports, peak_figure(), spread)) rows.push_back({one, spread});
  return rows;
}

Columns<OutlierRow> outlier_columns(const Reports& reports, const RunsNaming& naming) {
  using Row = OutlierRow;
  const auto pid = [&reports](std::size_t which) { return reports[which].process.process.pid; };
  const Columns<Difference> site{
      kind_column<Difference>(&Difference::kind),
      {"device", "number of the GPU", &Difference::device},
      {"bytes", "at that process's peak", [](const auto& row) { return row.after.bytes; }},
      {"median_bytes", "at the peak of the process of the median",
       [](const auto& row) { return row.before.bytes; }},
      {"frames", "call stack, innermost first", &Difference::frames}};
  return {
      {"figure", "`peak_bytes`", [](const Row&) { return peak_figure().field(); }},
      {"pid", "of the highest or lowest", [=](const Row& row) { return pid(row.outlier.which); }},
      {"value", "of that process", [](const Row& row) { return row.outlier.number; }},
      {"median_pid",
       "of the process of the median, of an even number the lower one of the middle two",
       [=](const Row& row) { return pid(row.spread.median_in); }},
      {"median", "the median", [](const Row& row) { return row.spread.median; }},
      {"sites", "call stacks that differ most at the peaks of the two, three at most", site,
       [&](const Row& row) {
         const bool is_of_host = reports[row.outlier.which].is_of_host;
         return sites_behind(reports, row.spread, row.outlier, is_of_host, naming);
       }}};
}

std::string number_text(const Figure& figure, std::uint64_t number) {
  return figure.is_bytes() ? amount_text(number) : count_text(number);
}

Columns<ReportOfProcess> figures_of_process() {
  constexpr const char* kMeanings[] = {
      ("the most that all kinds on all devices together can have held at one time, or of host "
       "memory where no process has other; requested bytes"),
      "most in segments, and of kinds that the driver serves, of all devices",
      "of these no more was needed at one time: the rest was idle, as far as that is known",
      "requested, live at the report",
      "the most of each kind of host memory, added",
      "successful ones"};
  Columns<ReportOfProcess> columns;
  for (const Figure& figure : figures_of_processes()) {
    columns.push_back(
        {std::string(figure.field()), kMeanings[static_cast<std::size_t>(figure.what)], figure.of});
  }
  return columns;
}

}  // namespace vramscope
