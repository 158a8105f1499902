// Processes as rows.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/running_text.h"

namespace vramscope {
namespace {

std::string numbers_of_devices(const RunningProgram& row) {
  std::string text;
  for (const std::uint16_t device : row.devices) {
    text += (text.empty() ? "" : ",") + std::to_string(device);
  }
  return text;
}

// Why figures are missing, a line a process.
std::string problems_text(const std::vector<RunningProgram>& programs, const Page& page) {
  std::string text;
  for (const RunningProgram& row : programs) {
    if (row.problem.empty()) continue;
    text += paragraph(std::to_string(row.pid) + ": " + printable(row.problem, page), page);
  }
  return text;
}

}  // namespace

Columns<RunningProgram> running_columns() {
  using Row = RunningProgram;
  const auto program = [](const Row& row) { return row.program.empty() ? "?" : row.program; };
  const auto devices = [](const Row& row) { return numbers_of_devices(row); };
  return {{"pid", "process number", &Row::pid, Titled("PID"),
           [](const Row& row) { return std::to_string(row.pid); }},
          {"program", "its name, or that of the script that Python runs; empty: not known",
           &Row::program, Titled("PROGRAM"), program},
          {"age_ns", "time since the program was started; `null`: not known", &Row::age_ns,
           Titled("AGE", 2)},
          {"devices", "numbers of the GPUs of which it has memory", &Row::devices, Titled("GPU", 3),
           devices},
          {"live_bytes",
           "requested bytes of all kinds that take memory of GPUs, live now; `null`: not known",
           &Row::live_bytes, Titled("LIVE")},
          {"peak_bytes",
           "the most that was live at one time, added over the GPUs; kinds of memory that were not "
           "followed together count with their own peaks; `null`: not known",
           &Row::peak_bytes, Titled("PEAK", 1)},
          {"mode", "`cache`, `dedicated` or `observe`; empty: not known", &Row::mode,
           Titled("MODE", 4)},
          {"report", "path of its next report; empty: not known", &Row::report, Titled("REPORT")},
          {"live_file", "path of its live file; empty: it has none", &Row::live_file},
          {"problem", "why figures are missing; empty: none are", &Row::problem}};
}

std::string running_text(const std::vector<RunningProgram>& programs, const Page& page) {
  if (programs.empty()) {
    return "No program of this user is recorded now. Next: vramscope run PROGRAM\n";
  }
  const Table table = table_of(running_columns(), programs, page);
  const std::string pid = std::to_string(programs.front().pid);
  return table.text(page) + table.left_out(page) + problems_text(programs, page) +
         "\nNext: vramscope live " + pid + "\n";
}

}  // namespace vramscope
