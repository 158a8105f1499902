// Processes as rows, figures of the ranks as rows below.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/runs_text.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <tuple>

#include "reporter/report/merge_processes.h"
#include "reporter/report/merged_process.h"
#include "reporter/report/trigger.h"
#include "reporter/view/analysis/peaks/device_sum.h"
#include "reporter/view/analysis/peaks/exact_peaks.h"
#include "reporter/view/analysis/peaks/traced_peaks.h"
#include "reporter/view/analysis/replay/trace_report.h"
#include "reporter/view/listing/json_text.h"
#include "reporter/view/text/job_text.h"
#include "reporter/view/text/process_devices.h"
#include "reporter/view/text/process_text.h"
#include "reporter/view/text/ranks_answer_text.h"
#include "reporter/view/text/ranks_text.h"
#include "reporter/view/text/runs_names.h"
#include "reporter/view/text/sums_text.h"

namespace vramscope {
namespace {

using enum Table::Align;
using Reports = std::vector<ReportOfProcess>;

void arrange_processes(Reports& reports, const RowChoice& choice) {
  std::stable_sort(reports.begin(), reports.end(),
                   [](const ReportOfProcess& a, const ReportOfProcess& b) {
                     const std::uint64_t of_a = peak_bounds(a).upper;
                     const std::uint64_t of_b = peak_bounds(b).upper;
                     return of_a != of_b ? of_a > of_b : comes_before(a.process, b.process);
                   });
  arrange(reports, process_columns(), choice);
}

void prepare(Reports& reports, const RunsNaming& naming, const RowChoice& choice) {
  choose_memory(reports);
  make_steps_exact(reports, naming.tell);
  arrange_processes(reports, choice);
}

std::string peak_text(const PeakBounds& peak) {
  return (peak.lower == peak.upper ? "" : "<= ") + amount_text(peak.upper);
}

std::vector<DeviceSum> sums_of(const Reports& reports, const TellShare& tell) {
  std::vector<MergedProcess> processes;
  for (const ReportOfProcess& one : reports) processes.push_back(one.process);
  std::vector<DeviceSum> sums = device_sums(processes);
  refine_from_traces(sums, reports, tell);
  return sums;
}

bool several_hosts(const Reports& reports) {
  return std::any_of(reports.begin(), reports.end(), [&](const ReportOfProcess& one) {
    return one.process.process.hostname != reports.front().process.process.hostname;
  });
}

bool is_one_program(const Reports& reports) {
  return std::all_of(reports.begin(), reports.end(), [&](const ReportOfProcess& one) {
    return program_of(one.process.process) == program_of(reports.front().process.process);
  });
}

bool are_apart(const Reports& reports, const DevicesText& devices) {
  return std::any_of(reports.begin(), reports.end(), [&](const ReportOfProcess& one) {
    return devices(one) != devices(reports.front());
  });
}

// What is the same in each row stands in the title.
Columns<ReportOfProcess> text_columns(const Reports& reports) {
  using Row = ReportOfProcess;
  const auto has_rank = [](const Row& one) { return one.process.process.rank >= 0; };
  const auto pid = [](const Row& row) { return std::to_string(row.process.process.pid); };
  const auto allocations = [](const Row& row) { return count_text(allocations_of(row.process)); };
  Columns<Row> columns;
  if (std::ranges::any_of(reports, has_rank)) {
    columns.push_back({{"RANK", right}, [=](const Row& row) {
                         return has_rank(row) ? std::to_string(row.process.process.rank) : "-";
                       }});
  }
  columns.push_back({{"PID", right}, pid});
  if (!is_one_program(reports)) {
    columns.push_back(
        {{"PROGRAM"}, [](const Row& row) { return program_of(row.process.process); }});
  }
  if (several_hosts(reports)) {
    columns.push_back({{"HOST"}, [](const Row& row) { return row.process.process.hostname; }});
  }
  const DevicesText devices = devices_text(reports);
  if (are_apart(reports, devices)) columns.push_back({{"GPU", left, 1}, devices});
  append(columns, {{{"ENDED"}, [](const Row& row) { return end_text(row.process); }},
                   {{"PEAK", right}, [](const Row& row) { return peak_text(peak_bounds(row)); }},
                   {{"NOW", right}, [](const Row& row) { return amount_text(held_by(row)); }},
                   {{"ALLOCATIONS", right, 2}, allocations}});
  if (need_file_column(reports)) {
    const std::size_t folder = common_report_folder(reports).size();
    columns.push_back({{"FILE"}, [=](const Row& row) { return own_name(row).substr(folder); }});
  }
  return columns;
}

std::string more_text(std::size_t hidden) {
  if (hidden == 0) return "";
  return "  and " + count_text(hidden) + " more process" + (hidden == 1 ? "" : "es") + "\n";
}

// Of the first processes; all: how many there are.
std::string bound_text(std::span<const ReportOfProcess> first, const Page& page) {
  const auto is_bound = [](const ReportOfProcess& one) {
    const PeakBounds peak = peak_bounds(one);
    return peak.lower != peak.upper;
  };
  if (std::ranges::none_of(first, is_bound)) return "";
  return paragraph(
      "<=: upper bound, because the kinds of memory of a process peaked at different times; only a "
      "trace has the exact sum",
      page);
}

RowsBlock table_of_processes(const Reports& reports, const Page& page, const MostProcesses& most) {
  struct Drawn {
    std::string rows, left_out;
  };
  const auto drawn = [=, &reports](std::size_t shown) {
    Table table = table_of(text_columns(reports), reports, page, shown);
    if (need_file_column(reports)) table.place_last(Table::Last::whole);
    return Drawn{table.text(page), table.left_out(page)};
  };
  const auto shown_in = [&reports, most](const ScreenRoom& room) {
    return rows_shown(reports.size(), most(room));
  };
  const auto below = [=, &reports](std::size_t shown) {
    return more_text(reports.size() - shown) + bound_text(first_rows(reports, shown), page);
  };
  const Drawn whole = drawn(shown_in({}));
  // A row may stand on two lines, and so do its titles then.
  const std::size_t each = line_count(whole.rows) / (shown_in({}) + 1);
  return {.text =
              [=](const ScreenRoom& room) {
                const std::size_t shown = shown_in(room);
                const Drawn part = drawn(shown);
                return part.rows + part.left_out + below(shown);
              },
          .lines =
              [=](const ScreenRoom& room) {
                const std::size_t shown = shown_in(room);
                return each * (shown + 1) + line_count(whole.left_out) + line_count(below(shown));
              }};
}

// By what ended them: "rank 3 (4711) was ended by SIGKILL".
void add_ends(Document& text, const Reports& reports) {
  std::map<std::string, std::vector<const ReportOfProcess*>> dead;
  for (const ReportOfProcess& one : reports) {
    const std::string& signal = one.process.process.ended_by;
    if (!signal.empty() || trigger_of(one.process.trigger) == Trigger::recovered)
      dead[signal].push_back(&one);
  }
  for (const auto& [signal, who] : dead) {
    const std::string by = signal.empty()
                               ? " died; the signal is not known (vramscope run would record it)"
                               : (who.size() == 1 ? " was" : " were") + (" ended by " + signal);
    text.paragraph(names_text(who) + by);
  }
}

void add_out_of_memory(Document& text, const ReportOfProcess& one, const Page& page) {
  const std::string what = named_process(one.process.process) + " ran out of memory in " +
                           counted(one.process.oom.count, "call") + ":";
  const std::string command = "vramscope oom " + shell_path(one.file, page);  // is never cut
  const bool fits =
      !page.cuts || 3 + columns(printable(what, page)) + columns(command) <= page.width;
  if (fits) return text.line("  " + what + " " + command);
  text.paragraph(what);
  text.line("      " + command);
}

Document events_text(const Reports& reports, const Page& page) {
  constexpr std::size_t kToldApart = 4;
  Document text;
  add_ends(text, reports);
  std::vector<const ReportOfProcess*> refused;
  for (const ReportOfProcess& one : reports) {
    if (one.process.oom.count != 0) refused.push_back(&one);
  }
  const std::size_t shown = rows_shown(refused.size(), kToldApart);
  for (std::size_t i = 0; i < shown; ++i) add_out_of_memory(text, *refused[i], page);
  refused.erase(refused.begin(), refused.begin() + static_cast<std::ptrdiff_t>(shown));
  if (!refused.empty()) text.paragraph("so did " + names_text(refused));
  return text;
}

std::string title(const Reports& reports, const LeftAside& left_aside) {
  std::string text = count_text(reports.size()) + (reports.size() == 1 ? " process" : " processes");
  const std::string program = program_of(reports.front().process.process);
  if (is_one_program(reports) && !program.empty()) text += " of " + program;
  if (left_aside.earlier != 0) {
    text += "; " + counted(left_aside.earlier, "earlier report") + " of the same processes skipped";
  }
  if (left_aside.repeated != 0) {
    const bool is_one = left_aside.repeated == 1;
    text += "; " + count_text(left_aside.repeated) + (is_one ? " is" : " are") +
            " also in another file, and " + (is_one ? "counts" : "count") + " once";
  }
  if (!have_files(reports)) return text;
  if (const std::string name = common_report_name(reports); !name.empty())
    return text + "; reports " + name;
  const std::string folder = common_report_folder(reports);
  if (folder.empty()) return text;
  return text + (reports.size() == 1 ? "; report in " : "; reports in ") + folder;
}

// Of many GPUs those with the highest peaks, where a screen has no room for all.
void add_sums(Document& text, const Runs& runs, const Page& page) {
  constexpr std::size_t kFew = 4;
  constexpr std::size_t kOfMany = 2;
  const bool are_many = runs.sums.size() > kFew;
  text.append(sums_text(runs.sums, runs.reports, page), are_many ? kWhereAllIs : ShownIn());
  if (are_many) text.append(sums_text(runs.sums, runs.reports, page, kOfMany), kWhereBrief);
}

}  // namespace

Runs runs_of(Reports reports, const LeftAside& left_aside, const RunsNaming& naming,
             const std::string& sort) {
  prepare(reports, naming, {});
  Runs runs{.reports = std::move(reports), .left_aside = left_aside};
  if (runs.reports.size() > 1) runs.sums = sums_of(runs.reports, naming.tell);
  runs.rows = runs.reports;
  arrange_processes(runs.rows, {0, sort});
  runs.differences = process_differences(runs.rows, naming, kOutliersTold);
  runs.jobs = jobs_of(runs.reports);
  runs.answer = ranks_answer(runs.rows, naming);
  return runs;
}

Document runs_text(const Runs& runs, const Page& page, const MostProcesses& most,
                   const HasFigures& has_figures) {
  const Reports& reports = runs.reports;
  Document text;
  text.title(title(reports, runs.left_aside));
  text.append(job_text(runs.jobs));
  text.table(table_of_processes(runs.rows, page, most));
  text.paragraph(host_memory_text(runs.rows));
  text.append_apart(events_text(runs.rows, page));
  add_sums(text, runs, page);
  text.append(ranks_text(runs.rows, runs.differences, page, has_figures));
  text.append_apart(ranks_answer_text(runs.rows, runs.answer), kUnlessRepeated);
  // Of one that was merged, what it says of all follows.
  if (!are_in_one_file(reports)) text.next("report", reports[first_to_open(reports)].file);
  return text;
}

namespace {

struct SumRow {
  DeviceSum sum;
  std::vector<std::int64_t> pids;
};

std::vector<SumRow> sum_rows(const Runs& runs) {
  std::vector<SumRow> rows;
  for (const DeviceSum& sum : runs.sums) {
    rows.push_back({sum, {}});
    for (const std::size_t which : sum.processes) {
      rows.back().pids.push_back(runs.reports[which].process.process.pid);
    }
  }
  return rows;
}

Columns<SumRow> sum_columns() {
  const auto of = within(&SumRow::sum);
  return {{"hostname", "machine; empty: several hosts name this device", of(&DeviceSum::host)},
          {"index", "number of the GPU on its machine", of(&DeviceSum::ordinal)},
          {"gpu", "as texts call it: `GPU 0 of node1`", of(&DeviceSum::label)},
          {"name", "of the GPU", of(&DeviceSum::name)},
          {"uuid", "of the GPU", of(&DeviceSum::uuid)},
          {"sum_of_peaks_bytes", "sum of the processes' peaks", of(&DeviceSum::sum_of_peaks)},
          {"lower_bytes",
           "lower bound of the peak of their sum; equal to `upper_bytes` if that peak is known, "
           "for example from traces of all processes",
           of(&DeviceSum::lower)},
          {"upper_bytes", "upper bound of the same", of(&DeviceSum::upper)},
          {"pids", "processes that used it", &SumRow::pids}};
}

}  // namespace

Columns<Runs> runs_fields(const Reports& reports, const RunsNaming& naming, std::size_t most) {
  const auto of_first = [](const Runs& runs) {
    const std::optional<FirstPeak>& first = runs.answer.first_peak;
    return first ? &*first : nullptr;
  };
  return {{"left_aside", "earlier reports of the same processes",
           [](const Runs& runs) { return runs.left_aside.earlier; }},
          {"repeated",
           "parts of merged reports that were left out because the same processes also have "
           "reports of their own, or are in other merged reports",
           [](const Runs& runs) { return runs.left_aside.repeated; }},
          {"processes", "the highest peak first", process_columns(),
           [most](const Runs& runs) { return first_rows(runs.reports, most); }},
          {"jobs", "jobs to which processes with a rank belong", job_columns(),
           [](const Runs& runs) { return runs.jobs; }},
          {"devices", "memory that the processes held together", sum_columns(), sum_rows},
          {"figures", "how processes differ", figure_columns(reports),
           [](const Runs& runs) { return figure_rows(runs.reports); }},
          {"kinds", "how processes differ in each kind of memory", kind_columns(reports),
           [](const Runs& runs) { return kind_rows(runs.reports); }},
          {"first_peak",
           "process whose peak comes first, and why; `null`: `no_first_peak` has the reason",
           first_peak_columns(reports), of_first},
          {"no_first_peak",
           "`none`: there is one. `few`: one process; `programs`: several; `host`: no memory of a "
           "device; `unknown`: times of less than two processes are known; `overlap`: the bounds "
           "of times do not tell which is first",
           [](const Runs& runs) { return runs.answer.no_first_peak; }, OneOf(kNoFirstPeakNames)},
          {"peak_clock", "what the times in `peak_times` count from, as `first_peak.clock`",
           [](const Runs& runs) { return runs.answer.clock; }, OneOf(kRankClockNames)},
          {"peak_times",
           "when the processes peaked, as far as known: from a trace, a report or, within bounds, "
           "a timeline; empty: several programs",
           timed_peak_columns(reports), [](const Runs& runs) { return runs.answer.peaks; }},
          {"steps", "marks and ranges that all processes have, the greatest difference first",
           named_spread_columns(reports), [](const Runs& runs) { return runs.answer.steps; }},
          {"libraries", "communication libraries (NCCL, NVSHMEM, MPI, UCX, Gloo)",
           named_spread_columns(reports), [](const Runs& runs) { return runs.answer.libraries; }},
          {"differences", "processes whose peak is more than a tenth from the median, and why",
           outlier_columns(reports, naming),
           [](const Runs& runs) { return outlier_rows(runs.reports); }}};
}

void add_runs_json(JsonText& json, Reports reports, const LeftAside& left_aside,
                   const RunsNaming& naming, const RowChoice& choice) {
  prepare(reports, naming, choice);
  Runs runs{.reports = std::move(reports), .left_aside = left_aside};
  runs.sums = sums_of(runs.reports, naming.tell);
  runs.jobs = jobs_of(runs.reports);
  runs.answer = ranks_answer(runs.reports, naming);
  add_value(json, runs, runs_fields(runs.reports, naming, choice.most));
}

Columns<ReportOfProcess> process_columns() {
  using Row = ReportOfProcess;
  const auto of = within(&Row::process, &MergedProcess::process);
  Columns<Row> columns{
      {"file", "path of the report", &Row::file},
      {"pid", "number of the process", of(&ProcessFacts::pid)},
      {"rank", "from the launcher's variables; `null`: none",
       [](const Row& row) { return if_known(row.process.process.rank); }},
      {"local_rank", "rank on its machine; `null`: not known",
       [](const Row& row) { return if_known(row.process.process.local_rank); }},
      {"restart", "how often it had been restarted; `null`: not known",
       [](const Row& row) { return if_known(row.process.process.restart); }},
      {"job", "name of its job; empty: not known", of(&ProcessFacts::job)},
      {"hostname", "machine", of(&ProcessFacts::hostname)},
      {"executable", "path of the program", of(&ProcessFacts::executable)},
      {"trigger", "why the report was written", [](const Row& row) { return row.process.trigger; }},
      {"ended_by", "signal that ended the process; empty: none", of(&ProcessFacts::ended_by)}};
  append(columns, figures_of_process());
  append(columns,
         {{"peak_lower_bytes",
           "lower bound for `peak_bytes`; equal to it if the peak is known exactly",
           [](const Row& row) { return peak_bounds(row).lower; }},
          {"refused", "allocations that failed for want of memory",
           [](const Row& row) { return row.process.oom.count; }},
          {"devices", "GPUs on which it held memory, by the process's own numbers", devices_of}});
  return columns;
}

void add_runs_csv(CsvText& csv, std::vector<ReportOfProcess> reports, const RowChoice& choice) {
  choose_memory(reports);
  make_peaks_exact(reports);
  arrange_processes(reports, choice);
  add_rows(csv, reports, process_columns(), choice.most);
}

}  // namespace vramscope
