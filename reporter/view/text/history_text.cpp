// Runs as rows, trends below.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/history_text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace vramscope {
namespace {

using enum Table::Align;

// "2026-11-22 06:41".
std::string date_text(std::uint64_t ns) {
  constexpr std::size_t kToTheMinute = 16;
  return ns == 0 ? "-" : time_text(ns).substr(0, kToTheMinute);
}

std::string percent(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %%", value);
  return text;
}

// "+2.0 %", beside the run before; "=" the same.
std::string change_text(const PastRun& run) {
  if (!run.change_bytes) return "-";
  if (*run.change_bytes == 0) return "=";
  if (run.before_bytes == 0) return "new";
  constexpr double kPercent = 100;
  const double change =
      kPercent * static_cast<double>(*run.change_bytes) / static_cast<double>(run.before_bytes);
  return (change > 0 ? "+" : "") + percent(change);
}

std::string end_text(const PastRun& run) {
  if (run.died == 0) return "-";
  return run.processes == 1 ? "yes" : count_text(run.died);
}

bool are_of_one_program(const std::vector<PastRun>& runs) {
  return std::all_of(runs.begin(), runs.end(), [&](const PastRun& run) {
    return run.program == runs.front().program && run.name == runs.front().name;
  });
}

Columns<PastRun> text_columns(const std::vector<PastRun>& runs) {
  using Row = PastRun;
  const auto any = [&](auto has) { return std::any_of(runs.begin(), runs.end(), has); };
  Columns<Row> columns{{{"DATE (UTC)"}, [](const Row& row) { return date_text(row.start_ns); }}};
  if (any([](const Row& row) { return !row.label.empty(); })) {
    columns.push_back({{"LABEL"}, [](const Row& row) {
                         return row.label.empty() ? std::string("-") : row.label;
                       }});
  }
  if (!are_of_one_program(runs)) {
    columns.push_back({{"PROGRAM"}, [](const Row& row) { return row.name; }});
  }
  if (any([](const Row& row) { return row.processes > 1; })) {
    columns.push_back(
        {{"PROCESSES", right}, [](const Row& row) { return count_text(row.processes); }});
  }
  if (any([](const Row& row) { return row.died != 0; })) {
    columns.push_back({{"DIED", right}, [](const Row& row) { return end_text(row); }});
  }
  append(columns,
         {{{"PEAK", right}, [](const Row& row) { return amount_text(row.peak_bytes); }},
          {{"CHANGE", right}, [](const Row& row) { return change_text(row); }},
          {{"NEVER FREED", right}, [](const Row& row) { return amount_text(row.leaked_bytes); }},
          {{"ALLOCATIONS", right, 1}, [](const Row& row) { return count_text(row.allocations); }},
          {{"FILE", left, 2}, [](const Row& row) { return row.file; }}});
  return columns;
}

std::string trend_text(const PeakTrend& trend, bool is_only) {
  constexpr double kDayNs = 86.4e12;
  constexpr double kLeastPercent = 0.1;
  const double days = static_cast<double>(trend.last_ns - trend.first_ns) / kDayNs;
  const std::string span = counted(static_cast<std::uint64_t>(std::lround(days)), "day");
  const bool is_steady = std::abs(trend.percent_a_week) < kLeastPercent;
  const std::string how = is_steady
                              ? "changed by less than 0.1 % a week"
                              : (trend.percent_a_week > 0 ? "grew by " : "shrank by ") +
                                    percent(std::abs(trend.percent_a_week)) + " a week (median)";
  return (is_only ? "" : trend.name + ": ") + "the peak " + how + " over " +
         count_text(trend.runs) + " runs in " + span + ": from " + amount_text(trend.first_bytes) +
         " to " + amount_text(trend.last_bytes);
}

}  // namespace

Columns<PastRun> past_run_columns() {
  using Row = PastRun;
  return {
      {"start_time_ns", "when its first process began, since 1970; 0: not known", &Row::start_ns},
      {"label", "of `run --label`; empty: none, or several", &Row::label},
      {"executable", "path of the program", &Row::program},
      {"program", "its name, or that of the script that Python runs", &Row::name},
      {"processes", "how many have a report", [](const Row& row) { return row.processes; }},
      {"died", "how many of these died", [](const Row& row) { return row.died; }},
      {"peak_bytes", "upper bound of what one process held at one time, all kinds on all devices",
       &Row::peak_bytes},
      {"change_bytes",
       "how much more that is than in the program's run before; `null`: there is none",
       &Row::change_bytes},
      {"leaked_bytes",
       "never freed, without what stays by design; of several reports the one with most",
       &Row::leaked_bytes},
      {"allocations", "of all processes", &Row::allocations},
      {"file", "path of the report, or of the run's folder", &Row::file}};
}

Columns<PastRuns> history_fields(std::size_t most) {
  using Row = PeakTrend;
  const Columns<Row> trends{
      {"executable", "path of the program", &Row::program},
      {"program", "its name, or that of the script that Python runs", &Row::name},
      {"runs", "of the program", [](const Row& row) { return row.runs; }},
      {"first_time_ns", "when the oldest began", &Row::first_ns},
      {"last_time_ns", "when the newest began", &Row::last_ns},
      {"first_bytes", "peak of the oldest", &Row::first_bytes},
      {"last_bytes", "peak of the newest", &Row::last_bytes},
      {"thousandths_a_week",
       "median growth of the peak in a week, in thousandths; negative: it shrank",
       [](const Row& row) {
         constexpr double kThousandths = 10;  // of a percent's tenth
         return static_cast<std::int64_t>(std::llround(kThousandths * row.percent_a_week));
       }}};
  return {{"runs", "the newest first", past_run_columns(),
           [most](const PastRuns& all) { return first_rows(all.runs, most); }},
          {"trends", "of programs with three runs or more, over a day or more", trends,
           &PastRuns::trends}};
}

Document history_text(const PastRuns& all, const Page& page, std::size_t most) {
  Document text;
  text.title(counted(all.runs.size(), "run") + ", the newest first");
  text.table(table_of(text_columns(all.runs), all.runs, page, most));
  const std::size_t shown = rows_shown(all.runs.size(), most);
  if (shown < all.runs.size()) {
    text.paragraph("and " + counted(all.runs.size() - shown, "earlier run"));
  }
  for (const PeakTrend& trend : all.trends) {
    text.paragraph(trend_text(trend, all.trends.size() == 1));
  }
  return text;
}

}  // namespace vramscope
