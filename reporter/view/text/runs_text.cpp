// Processes as rows, figures of the ranks as rows below.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/runs_text.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <tuple>

#include "reporter/view/text/device_sum.h"
#include "reporter/view/text/json_text.h"

namespace vramscope {
namespace {

using enum Table::Align;
using Reports = std::vector<ReportOfProcess>;

std::string signed_bytes(std::uint64_t bytes) {
  return bytes_text(static_cast<std::int64_t>(bytes));
}

std::uint64_t reserved_peak_of(const MergedProcess& process) {
  std::uint64_t sum = 0;
  for (const ProcessDevice& device : process.devices) {
    sum += static_cast<std::uint64_t>(std::max<std::int64_t>(device.reserved_peak_bytes, 0));
  }
  return sum;
}

void arrange_processes(Reports& reports, const RowChoice& choice) {
  std::stable_sort(reports.begin(), reports.end(),
                   [](const ReportOfProcess& a, const ReportOfProcess& b) {
                     return peak_of(a.process) > peak_of(b.process);
                   });
  arrange(reports, process_columns(), choice);
}

std::vector<MergedProcess> processes_of(const Reports& reports) {
  std::vector<MergedProcess> processes;
  for (const ReportOfProcess& one : reports) processes.push_back(one.process);
  return processes;
}

std::string program_of(const ProcessFacts& process) {
  return process.executable.substr(process.executable.rfind('/') + 1);
}

// How it ended; of a report amid the run, that it went on.
std::string end_text(const MergedProcess& one) {
  if (!one.process.ended_by.empty()) return one.process.ended_by;
  if (one.trigger == "exit") return "exit";
  if (one.trigger == kRecovered) return "no report of its own";
  return one.trigger == "exec" ? "exec" : "went on (" + one.trigger + ")";
}

bool several_hosts(const Reports& reports) {
  return std::any_of(reports.begin(), reports.end(), [&](const ReportOfProcess& one) {
    return one.process.process.hostname != reports.front().process.process.hostname;
  });
}

std::string table_text(const Reports& reports, const Page& page, std::size_t most) {
  const bool has_ranks = std::any_of(reports.begin(), reports.end(),
                                     [](const auto& one) { return one.process.process.rank >= 0; });
  const bool has_hosts = several_hosts(reports);
  std::vector<Table::Column> columns;
  if (has_ranks) columns.push_back({"RANK", right});
  columns.insert(columns.end(), {{"PID", right}, {"PROGRAM", left}});
  if (has_hosts) columns.push_back({"HOST", left});
  columns.insert(
      columns.end(),
      {{"ENDED", left}, {"PEAK", right}, {"NOW", right}, {"ALLOCATIONS", right}, {"FILE", left}});
  Table table(std::move(columns));
  for (std::size_t i = 0; i < rows_shown(reports.size(), most); ++i) {
    const MergedProcess& one = reports[i].process;
    std::vector<std::string> row;
    if (has_ranks) row.push_back(one.process.rank < 0 ? "-" : std::to_string(one.process.rank));
    row.push_back(std::to_string(one.process.pid));
    row.push_back(printable(program_of(one.process), page));
    if (has_hosts) row.push_back(printable(one.process.hostname, page));
    row.insert(row.end(), {printable(end_text(one), page), signed_bytes(peak_of(one)),
                           signed_bytes(current_of(one)),
                           count_text(static_cast<std::int64_t>(allocations_of(one))),
                           printable(reports[i].file, page)});
    table.add(std::move(row));
  }
  std::string text = table.text(page);
  if (const std::size_t shown = rows_shown(reports.size(), most); shown < reports.size()) {
    const std::size_t hidden = reports.size() - shown;
    text += "  and " + count_text(static_cast<std::int64_t>(hidden)) + " more process" +
            (hidden == 1 ? "" : "es") + "\n";
  }
  return text;
}

std::string sum_text(const DeviceSum& sum) {
  if (sum.lower == sum.upper) return "peak " + signed_bytes(sum.upper);
  return "peak between " + signed_bytes(sum.lower) + " and " + signed_bytes(sum.upper);
}

std::string sums_text(const std::vector<DeviceSum>& sums, const Page& page) {
  std::set<std::string> hosts;
  for (const DeviceSum& sum : sums) hosts.insert(sum.host);
  std::string text;
  bool has_bounds = false;
  bool has_clocks = false;
  for (const DeviceSum& sum : sums) {
    std::string name = "GPU " + std::to_string(sum.index);
    if (hosts.size() > 1 && !sum.host.empty()) name = sum.host + " " + name;
    text += "  " + printable(name, page) + "  " +
            count_text(static_cast<std::int64_t>(sum.processes.size())) +
            (sum.processes.size() == 1 ? " process, " : " processes, ") + sum_text(sum) + "\n";
    has_bounds = has_bounds || sum.lower != sum.upper;
    has_clocks = has_clocks || sum.host.empty();
  }
  if (text.empty()) return text;
  text = coloured("Together on each device, requested bytes", Colour::bold, page) + "\n" + text;
  if (has_bounds) {
    text += "  Bounds, from the buckets of the timelines.\n";
  }
  if (has_clocks) text += "  Clocks of several hosts are taken to agree.\n";
  return text;
}

// A figure of each process, in order, and whose is the highest.
struct Figure {
  const char* name;
  const char* field;  // of a process's row that it is taken from
  std::uint64_t (*of)(const MergedProcess& process);
  bool is_bytes;
};
constexpr Figure kFigures[] = {{"peak", "peak_bytes", peak_of, true},
                               {"reserved", "reserved_peak_bytes", reserved_peak_of, true},
                               {"at the end", "current_bytes", current_of, true},
                               {"allocations", "allocations", allocations_of, false}};

struct Spread {
  std::uint64_t least = 0;
  std::uint64_t median = 0;  // the lower one of two
  std::uint64_t most = 0;
  std::size_t least_in = 0;  // index into the reports
  std::size_t most_in = 0;
};

Spread spread_of(const Reports& reports, const Figure& figure) {
  std::vector<std::pair<std::uint64_t, std::size_t>> all;
  for (std::size_t i = 0; i < reports.size(); ++i) {
    all.emplace_back(figure.of(reports[i].process), i);
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  const auto same_as_last = std::find_if(
      all.begin(), all.end(), [&](const auto& one) { return one.first == all.back().first; });
  return {.least = all.front().first,
          .median = all[(all.size() - 1) / 2].first,
          .most = all.back().first,
          .least_in = all.front().second,
          .most_in = same_as_last->second};
}

std::string number_text(const Figure& figure, std::uint64_t number) {
  return figure.is_bytes ? signed_bytes(number) : count_text(static_cast<std::int64_t>(number));
}

// More than a tenth from the median is worth a line, from 1 MiB or 10 allocations on.
std::string difference_text(const Reports& reports, const Figure& figure, const Spread& spread) {
  const std::uint64_t least_difference = figure.is_bytes ? std::uint64_t{1} << 20 : 10;
  const auto differs = [&](std::uint64_t low, std::uint64_t high) {
    return high - low >= least_difference && high - low > spread.median / 10;
  };
  const auto line = [&](std::size_t which, std::uint64_t number, const char* direction) {
    const std::uint64_t apart = std::max(number, spread.median) - std::min(number, spread.median);
    return "  " + process_text(reports[which].process.process) + ": " + figure.name + " " +
           number_text(figure, number) + ", " + number_text(figure, apart) + " " + direction +
           " the median of " + number_text(figure, spread.median) + "\n";
  };
  std::string text;
  if (differs(spread.median, spread.most)) text += line(spread.most_in, spread.most, "above");
  if (differs(spread.least, spread.median)) text += line(spread.least_in, spread.least, "below");
  return text;
}

bool one_program(const Reports& reports) {
  return std::all_of(reports.begin(), reports.end(), [&](const ReportOfProcess& one) {
    return one.process.process.executable == reports.front().process.process.executable;
  });
}

std::string ranks_text(const Reports& reports, const Page& page) {
  if (reports.size() < 2 || !one_program(reports)) return "";
  Table table({{"", left},
               {"MIN", right},
               {"MEDIAN", right},
               {"MAX", right},
               {"MIN IN", left},
               {"MAX IN", left}});
  std::string differences;
  for (const Figure& figure : kFigures) {
    const Spread spread = spread_of(reports, figure);
    const bool equal = spread.least == spread.most;
    const auto who = [&](std::size_t which) {
      return equal ? std::string("-") : process_text(reports[which].process.process);
    };
    table.add({figure.name, number_text(figure, spread.least), number_text(figure, spread.median),
               number_text(figure, spread.most), who(spread.least_in), who(spread.most_in)});
    differences += difference_text(reports, figure, spread);
  }
  std::string text = "\n" + coloured("Among the processes", Colour::bold, page) + "\n";
  text += table.text(page);
  if (!differences.empty()) text += "\n" + coloured("Differences", Colour::bold, page) + "\n";
  return text + differences;
}

std::string events_text(const Reports& reports, const Page& page) {
  std::string text;
  for (const ReportOfProcess& one : reports) {
    const ProcessFacts& process = one.process.process;
    if (!process.ended_by.empty()) {
      text += "  " + process_text(process) + " was ended by " + printable(process.ended_by, page) +
              "\n";
    }
    if (one.process.oom.count != 0) {
      text += "  " + process_text(process) + " ran out of memory in " +
              counted(one.process.oom.count, "call") + ": vramscope oom " +
              printable(shell_word(one.file), page) + "\n";
    }
  }
  return text.empty() ? text : "\n" + text;
}

std::string title(const Reports& reports, std::size_t left_aside) {
  std::string text = count_text(static_cast<std::int64_t>(reports.size())) +
                     (reports.size() == 1 ? " process" : " processes");
  if (left_aside != 0) text += "; " + counted(left_aside, "earlier report") + " of them left aside";
  return text;
}

void device_json(JsonText& json, const DeviceSum& sum, const Reports& reports) {
  json.object().field("hostname", sum.host).field("index", sum.index).field("name", sum.name);
  json.field("uuid", sum.uuid).field("sum_of_peaks_bytes", sum.sum_of_peaks);
  json.field("lower_bytes", sum.lower).field("upper_bytes", sum.upper).key("pids").array();
  for (const std::size_t which : sum.processes) json.value(reports[which].process.process.pid);
  json.end().end();
}

}  // namespace

std::string process_text(const ProcessFacts& process) {
  const std::string pid = std::to_string(process.pid);
  return process.rank < 0 ? pid : "rank " + std::to_string(process.rank) + " (" + pid + ")";
}

std::size_t keep_last_of_each(Reports& reports) {
  using Who = std::tuple<std::string, std::int64_t, std::uint64_t>;
  const auto who = [](const ReportOfProcess& one) -> Who {
    const ProcessFacts& process = one.process.process;
    return {process.hostname, process.pid, process.start_time_ns};
  };
  std::map<Who, std::uint64_t> last;
  for (const ReportOfProcess& one : reports) {
    std::uint64_t& sequence = last[who(one)];
    sequence = std::max(sequence, one.process.sequence);
  }
  return std::erase_if(
      reports, [&](const ReportOfProcess& one) { return one.process.sequence < last[who(one)]; });
}

std::string runs_text(Reports reports, std::size_t left_aside, const Page& page,
                      const RowChoice& choice) {
  arrange_processes(reports, {});
  const std::string highest = reports.front().file;
  arrange_processes(reports, choice);
  std::string text = coloured(title(reports, left_aside), Colour::bold, page) + "\n" +
                     table_text(reports, page, choice.most) + events_text(reports, page);
  const std::string sums = sums_text(device_sums(processes_of(reports)), page);
  if (!sums.empty()) text += "\n" + sums;
  text += ranks_text(reports, page);
  return text + next_command("report", highest, page);
}

std::string runs_json(Reports reports, std::size_t left_aside, const RowChoice& choice) {
  arrange_processes(reports, choice);
  JsonText json;
  json.object().field("left_aside", left_aside).key("processes").array();
  add_objects(json, reports, process_columns(), choice.most);
  json.end().key("devices").array();
  for (const DeviceSum& sum : device_sums(processes_of(reports))) device_json(json, sum, reports);
  json.end().key("figures").array();
  for (const Figure& figure : kFigures) {
    const Spread spread = spread_of(reports, figure);
    json.object().field("figure", figure.field).field("min", spread.least);
    json.field("median", spread.median).field("max", spread.most);
    json.field("min_pid", reports[spread.least_in].process.process.pid);
    json.field("max_pid", reports[spread.most_in].process.process.pid).end();
  }
  return json.end().end().text();
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
  for (const Figure& figure : kFigures) {
    columns.push_back(
        {figure.field, [figure](const Row& row) { return CellValue(figure.of(row.process)); }});
  }
  columns.push_back({"refused", [](const Row& row) { return row.process.oom.count; }});
  return columns;
}

void add_runs_csv(CsvText& csv, std::vector<ReportOfProcess> reports, const RowChoice& choice) {
  arrange_processes(reports, choice);
  add_rows(csv, reports, process_columns(), choice.most);
}

}  // namespace vramscope
