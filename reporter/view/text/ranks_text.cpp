// Figures of the processes as rows, what differs below, and by which call sites.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/ranks_text.h"

#include <algorithm>
#include <map>

#include "allocator/base/place.h"
#include "reporter/report/memory_name.h"
#include "reporter/report/merged_process.h"
#include "reporter/view/analysis/diff/diff.h"
#include "reporter/view/analysis/stacks/stack_front.h"
#include "reporter/view/analysis/subject.h"
#include "reporter/view/listing/caller_names.h"
#include "reporter/view/listing/site_columns.h"
#include "reporter/view/text/process_text.h"

namespace vramscope {
namespace {

using enum Table::Align;
using Reports = std::vector<ReportOfProcess>;

// "at most" of a figure that is known by bounds.
std::string bound_word(const Figure& figure, const ReportOfProcess& one) {
  const PeakBounds bounds = figure_bounds(one, figure);
  const bool is_exact = number_text(figure, bounds.lower) == number_text(figure, bounds.upper);
  return is_exact ? "" : "at most ";
}

// The same of the median, which is the middle of two where their number is even.
std::string bound_word_of_median(const Figure& figure, const Reports& reports,
                                 const Spread& spread) {
  const std::string low = bound_word(figure, reports[spread.median_in]);
  if (!low.empty() || reports.size() % 2 != 0) return low;
  const ReportOfProcess* high = nullptr;
  for (const ReportOfProcess& one : reports) {
    const bool is_above = figure.of(one) >= spread.median && &one != &reports[spread.median_in];
    if (is_above && (high == nullptr || figure.of(one) < figure.of(*high))) high = &one;
  }
  return high == nullptr ? "" : bound_word(figure, *high);
}

// "rank 3 (4711): peak 222 MiB, 96.0 MiB above the median of 126 MiB". Two bounds have no known
// difference: "peak at most 222 MiB, beside a median of 126 MiB".
std::string outlier_text(const Reports& reports, const Figure& figure, const Spread& spread,
                         const Outlier& one) {
  const std::uint64_t apart =
      one.is_above ? one.number - spread.median : spread.median - one.number;
  const std::string most = bound_word(figure, reports[one.which]);
  const std::string median_most = bound_word_of_median(figure, reports, spread);
  const bool are_exact = most.empty() && median_most.empty();
  const std::string beside =
      are_exact
          ? number_text(figure, apart) + (one.is_above ? " above" : " below") + " the median of "
          : "beside a median of " + median_most;
  return named_process(reports[one.which].process.process) + ": " + figure.name + " " + most +
         number_text(figure, one.number) + ", " + beside + number_text(figure, spread.median);
}

// Of one figure. Processes with a line already, `told`, have the table alone.
void add_difference(Document& text, const Reports& reports, const ProcessDifference& difference,
                    std::map<std::size_t, const Figure*>& told, bool is_brief) {
  // Of the peak. Rows of the table are worth more than those that come after the highest.
  const std::size_t most_told = is_brief ? 2 : kOutliersTold;
  const Figure& figure = *difference.figure;
  const Spread& spread = difference.spread;
  const std::vector<Outlier>& found = difference.outliers;
  const std::size_t shown = std::min(most_told, found.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const Outlier& one = found[i];
    const auto [known, is_new] = told.emplace(one.which, &figure);
    // What is left is a story of its own, unless the peak has told it.
    const bool is_left = figure.is_left() && known->second->is_reserved();
    if (!is_new && !is_left && !figure.is_of_host() && !figure.is_of_kind()) continue;
    text.paragraph(outlier_text(reports, figure, spread, one));
    if (i >= difference.sites.size()) continue;
    const std::vector<Difference>& rows = difference.sites[i];
    const std::size_t most = is_brief || found.size() > 2 ? 1 : rows.size();
    for (const Difference& row : first_rows(rows, std::max<std::size_t>(most, 1)))
      text.deeper(
          site_difference_text(row, named_process(reports[spread.median_in].process.process)));
  }
  if (shown < found.size()) {
    const std::size_t more = found.size() - shown;
    text.paragraph(count_text(more) + (more == 1 ? " more is" : " more are") +
                   " more than a tenth away from it");
  }
}

// Whether the figures of all processes stand as a table above what differs.
enum class Figures : std::uint8_t { shown, left_out };

// By itself: other figures follow from these, or from what the processes' table has.
bool tells_an_odd_process(const Figure& figure) {
  return figure.is_peak() || figure.is_of_host() || figure.is_of_kind() || figure.is_time();
}

Document ranks_in(const Reports& reports, const std::vector<ProcessDifference>& differences,
                  Figures figures, bool is_brief) {
  Table table({{"", left},
               {"MIN", right, 1},
               {"MEDIAN", right},
               {"MAX", right},
               {"MIN IN", left, 2},
               {"MAX IN", left}});
  Document lines;
  std::map<std::size_t, const Figure*> told;
  for (const ProcessDifference& difference : differences) {
    const Figure& figure = *difference.figure;
    const Spread& spread = difference.spread;
    if (figures == Figures::left_out && !tells_an_odd_process(figure)) continue;
    // Host memory is the peak where there is nothing else.
    if (figure.is_of_host() && (spread.most == 0 || reports.front().is_of_host)) continue;
    if (figure.is_time() && spread.most == 0) continue;  // nobody measured it
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
    const auto number = [&](const std::string& bound, std::uint64_t value) {
      return (bound.empty() ? "" : "<= ") + number_text(figure, value);
    };
    add_difference(lines, reports, difference, told, is_brief);
    if (figure.is_of_kind()) continue;
    table.add({figure.name, number(bound_word(figure, reports[spread.least_in]), spread.least),
               number(bound_word_of_median(figure, reports, spread), spread.median),
               number(bound_word(figure, reports[spread.most_in]), spread.most),
               who(spread.least_in), who(spread.most_in)});
  }
  Document text;
  if (figures == Figures::shown) {
    text.gap();
    text.title("Among the processes");
    text.table(std::move(table));
  }
  if (lines.is_empty()) return text;
  text.gap();
  text.title("Differences");
  text.append(lines);
  return text;
}

}  // namespace

std::string site_difference_text(const Difference& row, const std::string& other) {
  constexpr std::size_t kFrames = 3;
  CallSite stack;
  for (const auto& caller : row.callers()) stack.callers.push_back(*caller);
  stack = without_standard_front(folded(stack));
  stack.callers.resize(std::min(kFrames, stack.callers.size()));
  return std::string(row.change() > 0 ? "+" : "-") +
         bytes_text(row.change() > 0 ? row.change() : -row.change()) + "  " +
         vramscope::text(stack) + "  (" + amount_text(row.after.bytes) + " here, " +
         amount_text(row.before.bytes) + " in " + other + ")";
}

std::string host_memory_text(const Reports& reports) {
  if (!reports.empty() && reports.front().is_of_host) {
    return "PEAK and NOW are of host memory: no other passes or was allocated";
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
  return text.empty() ? ""
                      : "PEAK and NOW exclude host memory. The most that one process held: " + text;
}

Document ranks_text(const Reports& reports, const std::vector<ProcessDifference>& differences,
                    const Page& page, const HasFigures& has_figures) {
  Document text;
  if (differences.empty()) return text;
  const auto in = [&](Figures figures, bool is_brief) {
    return render(ranks_in(reports, differences, figures, is_brief), page);
  };
  const auto text_of = [whole = in(Figures::shown, false), brief = in(Figures::shown, true),
                        least = in(Figures::left_out, true),
                        has_figures](const ScreenRoom& room) -> const std::string& {
    if (room.brevity == Brevity::none) return whole;
    return has_figures(room) ? brief : least;
  };
  text.table({.text = text_of,
              .lines = [=](const ScreenRoom& room) { return line_count(text_of(room)); }});
  return text;
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
  const auto is_bound = [&reports](const Row& row, std::size_t which) {
    return !bound_word(*row.figure, reports[which]).empty();
  };
  return {{"figure", "field of a process's row", [](const Row& row) { return row.figure->field(); },
           OneOf(kFigureFields)},
          {"min", "least", of(&Spread::least), in_unit},
          {"median", "median; of an even number the mean of the middle two", of(&Spread::median),
           in_unit},
          {"max", "most", of(&Spread::most), in_unit},
          {"min_is_bound", "the process with the least had at most this, and perhaps clearly less",
           [=](const Row& row) { return is_bound(row, row.spread.least_in); }},
          {"median_is_bound", "the same of the median",
           [&reports](const Row& row) {
             return !bound_word_of_median(*row.figure, reports, row.spread).empty();
           }},
          {"max_is_bound", "the same of the most",
           [=](const Row& row) { return is_bound(row, row.spread.most_in); }},
          {"min_pid", "process that has the least", pid(&Spread::least_in)},
          {"max_pid", "process that has the most", pid(&Spread::most_in)}};
}

Columns<ProcessDifference> kind_columns(const Reports& reports) {
  using Row = ProcessDifference;
  const auto of = within(&Row::spread);
  const auto pid = [&reports](std::size_t which) { return reports[which].process.process.pid; };
  const Columns<Outlier> odd{
      {"pid", "number of the process", [=](const Outlier& one) { return pid(one.which); }},
      {"peak_bytes", "its peak of this kind", [](const Outlier& one) { return one.number; }}};
  return {
      {"kind", "kind of memory", [](const Row& row) { return row.figure->kind; }},
      {"min_bytes", "least peak of a process, over its GPUs", of(&Spread::least)},
      {"median_bytes", "median; of an even number the mean of the middle two", of(&Spread::median)},
      {"max_bytes", "most", of(&Spread::most)},
      {"max_pid", "process that has the most",
       [=](const Row& row) { return pid(row.spread.most_in); }},
      {"odd", "processes that are more than a tenth and 1 MiB from the median", odd,
       &Row::outliers}};
}

Columns<OutlierRow> outlier_columns(const Reports& reports, const RunsNaming& naming) {
  using Row = OutlierRow;
  const auto pid = [&reports](std::size_t which) { return reports[which].process.process.pid; };
  const auto kind = [](const Difference& row) {
    return takes_device_memory(row.kind)
               ? std::string("all")
               : std::string(kKindNames[static_cast<std::size_t>(row.kind)]);
  };
  const Columns<Difference> site{
      {"kind", "kind of host memory; `all`: the kinds of a GPU, added up", kind,
       OfType("kind_or_all")},
      {"device", "number of the GPU", &Difference::device},
      {"bytes", "at that process's peak", [](const auto& row) { return row.after.bytes; }},
      {"median_bytes", "at the peak of the process with the median",
       [](const auto& row) { return row.before.bytes; }},
      {"frames", "call stack, innermost first", &Difference::frames}};
  return {{"figure", "`peak_bytes`", [](const Row&) { return peak_figure().field(); }},
          {"pid", "process with the highest or lowest peak",
           [=](const Row& row) { return pid(row.outlier.which); }},
          {"value", "peak of that process", [](const Row& row) { return row.outlier.number; }},
          {"median_pid", "process with the median; for an even number, the lower of the middle two",
           [=](const Row& row) { return pid(row.spread.median_in); }},
          {"median", "the median", [](const Row& row) { return row.spread.median; }},
          {"sites",
           "call stacks that differ most between the peaks of these two processes, three at most; "
           "of the first 20 differences",
           site, [&](const Row& row) {
             if (!row.is_compared) return std::vector<Difference>();
             const bool is_of_host = reports[row.outlier.which].is_of_host;
             return sites_behind(reports, row.spread, row.outlier, is_of_host, naming);
           }}};
}

std::string number_text(const Figure& figure, std::uint64_t number) {
  if (figure.is_time()) return duration_text(number);
  return figure.is_bytes() ? amount_text(number) : count_text(number);
}

Columns<ReportOfProcess> figures_of_process() {
  constexpr const char* kMeanings[] = {
      ("upper bound of what all kinds on all devices held at one time; of host memory if no "
       "process has device memory; requested bytes"),
      "upper bound of what was reserved at one time, all kinds and devices: segments and uncached "
      "memory",
      "upper bound of how much of this was needed at one time: the rest is known to have been idle",
      "requested, live at the report",
      "upper bound of the host memory held at one time, all kinds together",
      "successful ones",
      "time that these took; 0: an earlier version merged the report, or nobody measured it"};
  Columns<ReportOfProcess> columns;
  for (const Figure& figure : figures_of_processes()) {
    columns.push_back({std::string(figure.field()),
                       kMeanings[static_cast<std::size_t>(figure.what)],
                       [&figure](const ReportOfProcess& one) { return figure.of(one); }});
  }
  return columns;
}

}  // namespace vramscope
