// The plot, and a line for each process that is far from the median.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/ranks_timeline_text.h"

#include <algorithm>

#include "reporter/report/merged_process.h"
#include "reporter/view/analysis/jobs.h"
#include "reporter/view/analysis/subject.h"
#include "reporter/view/listing/band_plot.h"
#include "reporter/view/text/job_text.h"
#include "reporter/view/text/process_text.h"
#include "reporter/view/text/words.h"

namespace vramscope {
namespace {

constexpr std::size_t kLeastRows = 4;
constexpr std::size_t kMostRows = 12;
constexpr std::size_t kMostColumns = 400;
constexpr std::size_t kLetters = 26;

using Reports = std::vector<ReportOfProcess>;

std::string processes(std::size_t count) {
  return count_text(static_cast<std::int64_t>(count)) + (count == 1 ? " process" : " processes");
}

std::string title_of(const RanksTimeline& ranks) {
  const Reports& reports = *ranks.reports;
  const bool are_ranks = std::ranges::all_of(
      reports, [](const ReportOfProcess& one) { return one.process.process.rank >= 0; });
  const std::string program = program_of(reports.front().process.process);
  const bool is_one_program = std::ranges::all_of(reports, [&](const ReportOfProcess& one) {
    return program_of(one.process.process) == program;
  });
  std::string text = are_ranks ? counted(reports.size(), "rank") : processes(reports.size());
  if (is_one_program && !program.empty()) text += " of " + program;
  const RanksOverTime& over = ranks.over;
  text += " over each other, " + duration_text(over.length_ns);
  text += over.is_of_host ? ", requested bytes of host memory" : ", requested bytes";
  if (over.from_ns != 0 || over.to_ns != over.length_ns)
    text += "; shown from " + duration_text(over.from_ns) + " to " + duration_text(over.to_ns);
  return text;
}

std::string clock_text(const RanksOverTime& over) {
  if (over.clock == RankClock::start) return "time 0 is the start of each process";
  return "time 0 is the start of the first process, " + time_text(over.start_ns) +
         ", by the hosts' clocks";
}

Bands bands_of(const RanksOverTime& over) {
  Bands bands;
  for (const RankStep& step : over.steps) {
    bands.emplace_back();
    if (step.ranks == 0) continue;
    bands.back() = Band{.least = step.least,
                        .low = step.low,
                        .median = step.median,
                        .high = step.high,
                        .most = step.most};
  }
  return bands;
}

// Where it is far from the median.
LetteredCurve lettered(const RankCurve& one, std::size_t number, std::size_t steps) {
  LetteredCurve curve{.letter = static_cast<char>('a' + number), .values = {}};
  curve.values.resize(steps);
  for (std::size_t i = one.first; i < one.end; ++i) {
    if (one.is_far[i - one.first]) curve.values[i] = one.highest[i - one.first];
  }
  return curve;
}

std::string plot_text(const RanksOverTime& over, std::size_t told, std::size_t rows,
                      const TimelineLook& look, const Page& page) {
  std::vector<std::uint64_t> values;  // of median and most: what the scale is to show
  for (const RankStep& step : over.steps) {
    values.push_back(step.median);
    values.push_back(step.most);
  }
  const BytesAxis axis = axis_for(values, rows, look.scale);
  std::vector<LetteredCurve> curves;
  for (std::size_t i = 0; i < std::min(told, kLetters); ++i)
    curves.push_back(lettered(over.ranks[i], i, over.steps.size()));
  const std::uint64_t end_ns = over.from_ns + over.step_ns * over.steps.size();
  return band_text(bands_of(over), curves, axis, page) +
         time_axis_text(over.from_ns, end_ns, over.steps.size(), page) +
         (axis.is_log && look.scale == Scale::automatic
              ? paragraph("a log scale, since on a linear one most would be flat: --scale linear",
                          page)
              : "");
}

// "median at most 12.0 GiB, ...".
std::string legend_text(const RanksOverTime& over, std::size_t told, const Page& page) {
  const BandSigns signs = band_signs(page);
  const RankStep& highest =
      *std::ranges::max_element(over.steps, {}, [](const RankStep& step) { return step.median; });
  std::string text = std::string(signs.median) + " median, at most " + amount_text(highest.median) +
                     "; " + signs.inner + " a tenth to nine tenths of the processes; " +
                     signs.outer + " all";
  if (told != 0) text += "; letters: single processes, see below";
  const bool is_bound =
      std::ranges::any_of(over.ranks, [](const RankCurve& one) { return !one.is_exact; });
  if (is_bound)
    text +=
        "; upper bounds, since kinds of memory are added up: with run --trace the sums are exact";
  return text;
}

// "a  rank 37 (1037): at most 20.0 GiB, at 1.20 s; 8.00 GiB above the median of 12.0 GiB at 1.10
// s".
std::string far_text(const RankCurve& one, const ReportOfProcess& report, std::size_t number) {
  std::string text =
      number < kLetters ? std::string(1, static_cast<char>('a' + number)) + "  " : "";
  text += named_process(report.process.process) + ": peak " + (one.is_exact ? "" : "at most ") +
          amount_text(one.peak_bytes) + " at " + duration_text(one.peak_ns) + "; " +
          amount_text(one.apart_bytes) + (one.is_above ? " above" : " below") + " the median of " +
          amount_text(one.median_bytes) + " at " + duration_text(one.apart_ns);
  if (const std::string death = death_text(report.process); !death.empty())
    text += "; " + death + " at " + duration_text(one.end_ns);
  return text;
}

void add_far(Document& text, const RanksTimeline& ranks, std::size_t told) {
  const RanksOverTime& over = ranks.over;
  for (std::size_t i = 0; i < told; ++i)
    text.paragraph(far_text(over.ranks[i], (*ranks.reports)[over.ranks[i].which], i));
  const std::size_t more = over.far - told;
  if (more != 0)
    text.paragraph("and " + count_text(static_cast<std::int64_t>(more)) +
                   " more far from the median: -n 0 names all");
  if (over.far == 0 && over.ranks.size() > 2) text.paragraph("none is far from the median");
}

// The document with the first `told` by name, and a plot of so many rows.
Document drawn(const RanksTimeline& ranks, std::size_t told, std::size_t rows,
               const TimelineLook& look, const Page& page) {
  const RanksOverTime& over = ranks.over;
  Document text;
  text.title(title_of(ranks));
  text.append(job_text(jobs_of(*ranks.reports)));
  if (over.untimed != 0)
    text.paragraph(processes(over.untimed) +
                   " left out: of these no report tells how memory changed over time");
  text.paragraph(clock_text(over));
  text.paragraph(legend_text(over, told, page));
  text.drawing(plot_text(over, told, rows, look, page));
  add_far(text, ranks, told);
  return text;
}

}  // namespace

std::size_t steps_on(const Page& page) {
  const std::size_t width = std::min(page.width, kMostColumns);
  return width > 2 * kAxisColumns ? width - kAxisColumns - 1 : kAxisColumns;
}

Document ranks_timeline_text(const RanksTimeline& ranks, const TimelineLook& look,
                             const Page& page) {
  constexpr std::size_t kBelow = 3;  // the next command and the prompt
  const RanksOverTime& over = ranks.over;
  const auto is_empty = [](const RankCurve& one) { return one.peak_bytes == 0; };
  if (std::ranges::all_of(over.ranks, is_empty)) {
    Document text;
    text.title(title_of(ranks));
    if (over.untimed != 0)
      text.paragraph("The reports do not tell how memory changed over time.");
    else if (page.filters.empty())
      text.paragraph("Nothing was allocated.");
    else
      text.nothing("  " + std::string(kNothingPasses) + "allocated.");
    return text;
  }
  std::size_t told = rows_shown(over.far, look.most);
  for (;; --told) {
    const Document least = drawn(ranks, told, kLeastRows, look, page);
    const std::size_t lines = DocumentSize(least, page).lines({}) + kBelow;
    const bool fits = lines <= look.lines;
    if (!fits && told > 1 && look.must_fit) continue;
    const std::size_t room = fits ? look.lines - lines : 0;
    return drawn(ranks, told, std::min(kMostRows, kLeastRows + room), look, page);
  }
}

namespace {

Columns<RankStep> step_columns() {
  using Row = RankStep;
  return {{"from_ns", "beginning", &Row::from_ns},
          {"ranks", "processes that ran in it", [](const Row& row) { return row.ranks; }},
          {"least_bytes", "least of them", &Row::least},
          {"low_bytes", "what a tenth of them do not exceed", &Row::low},
          {"median_bytes", "median of them", &Row::median},
          {"high_bytes", "what nine tenths of them do not exceed", &Row::high},
          {"most_bytes", "most of them", &Row::most}};
}

struct ListedRank {
  const ReportOfProcess* report = nullptr;
  RankCurve curve;
  [[nodiscard]] bool is_far() const { return curve.apart_bytes != 0; }
};

Columns<ListedRank> rank_columns() {
  using Row = ListedRank;
  const auto of = within(&Row::report, &ReportOfProcess::process, &MergedProcess::process);
  const auto its = within(&Row::curve);
  const auto if_far = [](auto RankCurve::*field) {
    return [field](const Row& row) {
      return row.is_far() ? std::optional(row.curve.*field) : std::nullopt;
    };
  };
  return {{"file", "path of the report", within(&Row::report)(&ReportOfProcess::file)},
          {"pid", "number of the process", of(&ProcessFacts::pid)},
          {"rank", "from the launcher's variables; `null`: none",
           [](const Row& row) { return if_known(row.report->process.process.rank); }},
          {"hostname", "machine", of(&ProcessFacts::hostname)},
          {"ended_by", "signal that ended the process; empty: none", of(&ProcessFacts::ended_by)},
          {"first_ns", "when it began", its(&RankCurve::first_ns)},
          {"end_ns", "when it ended, or when its report was written", its(&RankCurve::end_ns)},
          {"peak_bytes", "most that it held in the window", its(&RankCurve::peak_bytes)},
          {"peak_ns", "when; with several kinds of memory the beginning of the step",
           its(&RankCurve::peak_ns)},
          {"is_bound", "`peak_bytes` and `highest_bytes` are upper bounds",
           [](const Row& row) { return !row.curve.is_exact; }},
          {"is_far", "it is far from the median in some steps", &Row::is_far},
          {"apart_bytes", "how far it is from the median where that is most; `null`: it is not far",
           if_far(&RankCurve::apart_bytes)},
          {"is_above", "it is above the median there", if_far(&RankCurve::is_above)},
          {"apart_ns", "beginning of that step", if_far(&RankCurve::apart_ns)},
          {"then_bytes", "what it held in that step", if_far(&RankCurve::then_bytes)},
          {"median_bytes", "the median in that step", if_far(&RankCurve::median_bytes)},
          {"first_step", "the first step in which it ran",
           [](const Row& row) { return row.curve.first; }},
          {"highest_bytes", "most in each step in which it ran", its(&RankCurve::highest)}};
}

std::vector<ListedRank> listed_ranks(const RanksTimeline& ranks) {
  std::vector<ListedRank> rows;
  for (const RankCurve& one : ranks.over.ranks)
    rows.push_back({.report = &(*ranks.reports)[one.which], .curve = one});
  return rows;
}

}  // namespace

std::vector<std::string> rank_column_names() { return names_of(rank_columns()); }

void arrange_far(RanksTimeline& ranks, const RowChoice& choice) {
  std::vector<ListedRank> rows = listed_ranks(ranks);
  rows.resize(ranks.over.far);
  arrange(rows, rank_columns(), choice);
  for (std::size_t i = 0; i < rows.size(); ++i) ranks.over.ranks[i] = std::move(rows[i].curve);
}

Columns<RanksTimeline> ranks_timeline_fields(const Reports& reports, const RowChoice& rows) {
  using All = RanksTimeline;
  const auto over = within(&All::over);
  return {{"clock",
           "what time 0 is: `start`: the start of each process; `wall`: the start of the first "
           "process, "
           "by the hosts' clocks",
           over(&RanksOverTime::clock), OneOf(kRankClockNames)},
          {"start_ns", "time 0 since 1970; `null`: each process has its own",
           [](const All& all) { return if_not_zero(all.over.start_ns); }},
          {"duration_ns", "until the last process ended", over(&RanksOverTime::length_ns)},
          {"from_ns", "start of the window", over(&RanksOverTime::from_ns)},
          {"to_ns", "end of the window", over(&RanksOverTime::to_ns)},
          {"step_ns", "length of a step", over(&RanksOverTime::step_ns)},
          {"is_of_host",
           "bytes are of host memory, since no process has memory of a GPU; else of all GPUs of a "
           "process together",
           over(&RanksOverTime::is_of_host)},
          {"untimed", "processes left out, since their reports have no timeline",
           [](const All& all) { return all.over.untimed; }},
          {"steps", "all processes, by time", step_columns(), over(&RanksOverTime::steps)},
          {"ranks", "each process, the farthest from the median first", rank_columns(),
           [rows](const All& all) { return chosen_rows(listed_ranks(all), rank_columns(), rows); }},
          {"jobs", "jobs to which processes with a rank belong", job_columns(),
           [&reports](const All&) { return jobs_of(reports); }}};
}

Columns<RankInStep> rank_step_columns() {
  using Row = RankInStep;
  const auto of = within(&Row::report, &ReportOfProcess::process, &MergedProcess::process);
  const auto its = within(&Row::step);
  return {{"pid", "", of(&ProcessFacts::pid)},
          {"rank", "", [](const Row& row) { return if_known(row.report->process.process.rank); }},
          {"from_ns", "", its(&RankStep::from_ns)},
          {"highest_bytes", "", &Row::bytes},
          {"median_bytes", "", its(&RankStep::median)}};
}

void add_ranks_timeline_csv(CsvText& csv, const RanksTimeline& ranks, const RowChoice& choice) {
  std::vector<RankInStep> rows;
  for (const RankCurve& one : ranks.over.ranks) {
    for (std::size_t i = one.first; i < one.end; ++i)
      rows.push_back({.report = &(*ranks.reports)[one.which],
                      .step = &ranks.over.steps[i],
                      .bytes = one.highest[i - one.first]});
  }
  const Columns<RankInStep> columns = rank_step_columns();
  arrange(rows, columns, choice);
  add_rows(csv, rows, columns, choice.most);
}

}  // namespace vramscope
