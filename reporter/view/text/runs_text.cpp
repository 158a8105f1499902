// Processes as rows, figures of the ranks as rows below.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/runs_text.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <tuple>

#include "reporter/report/merge_processes.h"
#include "reporter/report/merged_process.h"
#include "reporter/report/trigger.h"
#include "reporter/view/analysis/peaks/device_sum.h"
#include "reporter/view/analysis/peaks/exact_sum.h"
#include "reporter/view/analysis/replay/trace_report.h"
#include "reporter/view/listing/json_text.h"
#include "reporter/view/text/process_text.h"
#include "reporter/view/text/ranks_text.h"
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

void prepare(Reports& reports, const RowChoice& choice) {
  choose_memory(reports);
  make_peaks_exact(reports);
  arrange_processes(reports, choice);
}

std::string peak_text(const PeakBounds& peak) {
  return (peak.lower == peak.upper ? "" : "<= ") + amount_text(peak.upper);
}

std::vector<DeviceSum> sums_of(const Reports& reports) {
  std::vector<MergedProcess> processes;
  for (const ReportOfProcess& one : reports) processes.push_back(one.process);
  std::vector<DeviceSum> sums = device_sums(processes);
  make_exact(sums, reports);
  return sums;
}

bool several_hosts(const Reports& reports) {
  return std::any_of(reports.begin(), reports.end(), [&](const ReportOfProcess& one) {
    return one.process.process.hostname != reports.front().process.process.hostname;
  });
}

bool is_one_file(const Reports& reports) {
  return std::all_of(reports.begin(), reports.end(),
                     [&](const auto& one) { return one.file == reports.front().file; });
}

// Of a merged report each process has a file of its own, or had.
bool has_own_names(const Reports& reports) {
  return reports.size() == 1 || std::any_of(reports.begin(), reports.end(), [](const auto& one) {
           return one.is_merged && !one.process.report.empty();
         });
}

// Where the report was, when it is not there any more.
std::string name_of(const ReportOfProcess& one) {
  if (!one.is_merged || one.process.report.empty()) return one.file;
  const std::string own = own_file(one);
  return own.empty() ? one.process.report : own;
}

// "ranks/", where all reports lie; "" they lie here, or apart.
std::string common_folder(const Reports& reports) {
  const auto folder_of = [](const ReportOfProcess& one) {
    const std::string name = name_of(one);
    return name.substr(0, name.rfind('/') + 1);
  };
  const std::string folder = folder_of(reports.front());
  const bool is_common = std::all_of(reports.begin(), reports.end(),
                                     [&](const auto& one) { return folder_of(one) == folder; });
  return is_common ? folder : "";
}

// "ranks/vramscope.train.PID.json", where all names are this one with their own process's number;
// "" where they are not, and of one report.
std::string common_name(const Reports& reports) {
  const auto pid_of = [](const auto& one) { return std::to_string(one.process.process.pid); };
  const std::string first = name_of(reports.front()), pid = pid_of(reports.front());
  const std::size_t at = first.rfind("." + pid + ".");
  if (reports.size() == 1 || at == std::string::npos) return "";
  const std::string before = first.substr(0, at + 1);
  const std::string behind = first.substr(before.size() + pid.size());
  const bool is_common = std::all_of(reports.begin(), reports.end(), [&](const auto& one) {
    return name_of(one) == before + pid_of(one) + behind;
  });
  return is_common ? before + "PID" + behind : "";
}

bool has_files(const Reports& reports) { return !is_one_file(reports) || has_own_names(reports); }
bool needs_column(const Reports& reports) {
  return has_files(reports) && common_name(reports).empty();
}

bool is_one_program(const Reports& reports) {
  return std::all_of(reports.begin(), reports.end(), [&](const ReportOfProcess& one) {
    return program_of(one.process.process) == program_of(reports.front().process.process);
  });
}

CellNumbers devices_of(const ReportOfProcess& one) {
  const std::vector<std::uint16_t> devices = devices_used(one.process.kinds);
  return {devices.begin(), devices.end()};
}

bool are_on_other_devices(const Reports& reports) {
  return std::any_of(reports.begin(), reports.end(), [&](const ReportOfProcess& one) {
    return devices_of(one) != devices_of(reports.front());
  });
}

// "0, 1"; "-" of none.
std::string devices_text(const ReportOfProcess& one) {
  std::string text;
  for (const std::uint64_t device : devices_of(one)) {
    text += (text.empty() ? "" : ", ") + std::to_string(device);
  }
  return text.empty() ? "-" : text;
}

// What is the same in each row stands in the title.
std::string table_text(const Reports& reports, const Page& page, std::size_t most) {
  const bool has_ranks = std::any_of(reports.begin(), reports.end(),
                                     [](const auto& one) { return one.process.process.rank >= 0; });
  const bool has_hosts = several_hosts(reports);
  std::vector<Table::Column> columns;
  if (has_ranks) columns.push_back({"RANK", right});
  columns.push_back({"PID", right});
  const bool has_programs = !is_one_program(reports);
  if (has_programs) columns.push_back({"PROGRAM", left});
  if (has_hosts) columns.push_back({"HOST", left});
  const bool has_devices = are_on_other_devices(reports);
  if (has_devices) columns.push_back({"GPU", left, 1});
  columns.insert(columns.end(),
                 {{"ENDED", left}, {"PEAK", right}, {"NOW", right}, {"ALLOCATIONS", right, 2}});
  const std::string folder = common_folder(reports);
  const bool has_names = needs_column(reports);
  if (has_names) columns.push_back({"FILE", left});
  Table table(std::move(columns));
  bool has_bounds = false;
  if (has_names) table.place_last(Table::Last::whole);
  for (std::size_t i = 0; i < rows_shown(reports.size(), most); ++i) {
    const MergedProcess& one = reports[i].process;
    const PeakBounds peak = peak_bounds(reports[i]);
    has_bounds = has_bounds || peak.lower != peak.upper;
    std::vector<std::string> row;
    if (has_ranks) row.push_back(one.process.rank < 0 ? "-" : std::to_string(one.process.rank));
    row.push_back(std::to_string(one.process.pid));
    if (has_programs) row.push_back(printable(program_of(one.process), page));
    if (has_hosts) row.push_back(printable(one.process.hostname, page));
    if (has_devices) row.push_back(devices_text(reports[i]));
    row.insert(row.end(),
               {printable(end_text(one), page), peak_text(peak), amount_text(held_by(reports[i])),
                count_text(static_cast<std::int64_t>(allocations_of(one)))});
    if (has_names) row.push_back(printable(name_of(reports[i]).substr(folder.size()), page));
    table.add(std::move(row));
  }
  std::string text = table.text(page) + table.left_out(page);
  if (const std::size_t shown = rows_shown(reports.size(), most); shown < reports.size()) {
    const std::size_t hidden = reports.size() - shown;
    text += "  and " + count_text(static_cast<std::int64_t>(hidden)) + " more process" +
            (hidden == 1 ? "" : "es") + "\n";
  }
  if (has_bounds) {
    text += paragraph(
        "<=: at most; its kinds of memory peaked at different times, and only a trace tells "
        "exactly "
        "what they held together",
        page);
  }
  return text + host_memory_text(reports, page);
}

// By what ended them: "rank 3 (4711) was ended by SIGKILL".
std::string ends_text(const Reports& reports, const Page& page) {
  std::map<std::string, std::vector<const ReportOfProcess*>> dead;
  for (const ReportOfProcess& one : reports) {
    const std::string& signal = one.process.process.ended_by;
    if (!signal.empty() || trigger_of(one.process.trigger) == Trigger::recovered)
      dead[signal].push_back(&one);
  }
  std::string text;
  for (const auto& [signal, who] : dead) {
    const std::string by = signal.empty()
                               ? " died, nobody saw by what (a vramscope run of its own would have)"
                               : (who.size() == 1 ? " was" : " were") + (" ended by " + signal);
    text += paragraph(printable(names_text(who) + by, page), page);
  }
  return text;
}

std::string out_of_memory_line(const ReportOfProcess& one, const Page& page) {
  const std::string what = printable(named_process(one.process.process), page) +
                           " ran out of memory in " + counted(one.process.oom.count, "call") + ":";
  const std::string command = "vramscope oom " + shell_path(one.file, page);  // is never cut
  const bool fits = !page.cuts || 3 + columns(what) + columns(command) <= page.width;
  return fits ? "  " + what + " " + command + "\n"
              : paragraph(what, page) + "      " + command + "\n";
}

std::string events_text(const Reports& reports, const Page& page) {
  constexpr std::size_t kToldApart = 4;
  std::string text = ends_text(reports, page);
  std::vector<const ReportOfProcess*> refused;
  for (const ReportOfProcess& one : reports) {
    if (one.process.oom.count != 0) refused.push_back(&one);
  }
  const std::size_t shown = rows_shown(refused.size(), kToldApart);
  for (std::size_t i = 0; i < shown; ++i) text += out_of_memory_line(*refused[i], page);
  refused.erase(refused.begin(), refused.begin() + static_cast<std::ptrdiff_t>(shown));
  if (!refused.empty()) text += paragraph("so did " + names_text(refused), page);
  return text.empty() ? text : "\n" + text;
}

std::string title(const Reports& reports, const LeftAside& left_aside) {
  std::string text = count_text(static_cast<std::int64_t>(reports.size())) +
                     (reports.size() == 1 ? " process" : " processes");
  const std::string program = program_of(reports.front().process.process);
  if (is_one_program(reports) && !program.empty()) text += " of " + program;
  if (left_aside.earlier != 0) {
    text += "; " + counted(left_aside.earlier, "earlier report") + " of them left aside";
  }
  if (left_aside.repeated != 0) {
    const bool is_one = left_aside.repeated == 1;
    text += "; " + count_text(static_cast<std::int64_t>(left_aside.repeated)) +
            (is_one ? " is" : " are") + " told again by another file, and " +
            (is_one ? "counts" : "count") + " once";
  }
  if (!has_files(reports)) return text;
  if (const std::string name = common_name(reports); !name.empty())
    return text + "; reports " + name;
  const std::string folder = common_folder(reports);
  if (folder.empty()) return text;
  return text + (reports.size() == 1 ? "; report in " : "; reports in ") + folder;
}

void device_json(JsonText& json, const DeviceSum& sum, const Reports& reports) {
  json.object().field("hostname", sum.host).field("index", sum.index).field("name", sum.name);
  json.field("uuid", sum.uuid).field("sum_of_peaks_bytes", sum.sum_of_peaks);
  json.field("lower_bytes", sum.lower).field("upper_bytes", sum.upper).key("pids").array();
  for (const std::size_t which : sum.processes) json.value(reports[which].process.process.pid);
  json.end().end();
}

}  // namespace

LeftAside keep_each_once(Reports& reports) {
  const auto rank_of = [](const ReportOfProcess& one) {
    return std::pair(one.process.sequence, !one.is_merged);
  };
  std::map<ProcessIdentity, std::size_t> best;
  for (std::size_t i = 0; i < reports.size(); ++i) {
    const auto [known, is_first] = best.try_emplace(identity_of(reports[i].process.process), i);
    if (!is_first && rank_of(reports[known->second]) < rank_of(reports[i])) known->second = i;
  }
  LeftAside left;
  Reports kept;
  for (std::size_t i = 0; i < reports.size(); ++i) {
    const std::size_t chosen = best[identity_of(reports[i].process.process)];
    const bool is_told = reports[i].process.process.pid != 0;  // whose report it is
    if (chosen == i || !is_told) {
      kept.push_back(reports[i]);
    } else {
      ++(reports[i].process.sequence < reports[chosen].process.sequence ? left.earlier
                                                                        : left.repeated);
    }
  }
  reports = std::move(kept);
  return left;
}

Runs runs_of(Reports reports, const LeftAside& left_aside) {
  prepare(reports, {});
  Runs runs{.reports = std::move(reports), .left_aside = left_aside, .sums = {}};
  if (runs.reports.size() > 1) runs.sums = sums_of(runs.reports);
  return runs;
}

std::string runs_text(const Runs& runs, const RunsNaming& naming, const Page& page,
                      const RowChoice& choice, Figures figures) {
  const Reports& reports = runs.reports;
  Reports rows = reports;
  arrange_processes(rows, choice);
  std::string text =
      sentence(printable(title(reports, runs.left_aside), page), Colour::bold, page) +
      table_text(rows, page, choice.most) + events_text(rows, page);
  if (const std::string sums = sums_text(runs.sums, reports, page); !sums.empty()) {
    text += "\n" + sums;
  }
  text += ranks_text(rows, naming, page, figures);
  // Of one that was merged, what it says of all follows.
  return is_one_file(reports) ? text : text + next_command("report", reports.front().file, page);
}

void add_runs_json(JsonText& json, Reports reports, const LeftAside& left_aside,
                   const RunsNaming& naming, const RowChoice& choice) {
  prepare(reports, choice);
  json.object().field("left_aside", left_aside.earlier).field("repeated", left_aside.repeated);
  json.key("processes").array();
  add_objects(json, reports, process_columns(), choice.most);
  json.end().key("devices").array();
  for (const DeviceSum& sum : sums_of(reports)) device_json(json, sum, reports);
  json.end().key("figures").array();
  figures_json(json, reports);
  json.end().key("differences").array();
  differences_json(json, reports, naming);
  json.end().end();
}

Columns<ReportOfProcess> process_columns() {
  using Row = ReportOfProcess;
  Columns<Row> columns{
      {"file", [](const Row& row) { return row.file; }},
      {"pid", [](const Row& row) { return row.process.process.pid; }},
      {"rank", [](const Row& row) { return if_known(row.process.process.rank); }},
      {"hostname", [](const Row& row) { return row.process.process.hostname; }},
      {"executable", [](const Row& row) { return row.process.process.executable; }},
      {"trigger", [](const Row& row) { return row.process.trigger; }},
      {"ended_by", [](const Row& row) { return row.process.process.ended_by; }}};
  add_figures(columns);
  columns.push_back({"peak_lower_bytes", [](const Row& row) { return peak_bounds(row).lower; }});
  columns.push_back({"refused", [](const Row& row) { return row.process.oom.count; }});
  columns.push_back({"devices", [](const Row& row) { return devices_of(row); }});
  return columns;
}

void add_runs_csv(CsvText& csv, std::vector<ReportOfProcess> reports, const RowChoice& choice) {
  prepare(reports, choice);
  add_rows(csv, reports, process_columns(), choice.most);
}

}  // namespace vramscope
