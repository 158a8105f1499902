// What vramscope run says when the program has ended: what was recorded, where, and what to do
// next.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>
#include <variant>

#include "interpose/settings/options.h"
#include "interpose/settings/private_variables.h"
#include "reporter/report/files/input_file.h"
#include "reporter/report/json.h"
#include "reporter/report/merged_process.h"
#include "reporter/view/analysis/peaks/device_sum.h"
#include "reporter/view/analysis/stacks/stack_view.h"
#include "reporter/view/analysis/subject.h"
#include "reporter/view/command/inputs.h"
#include "reporter/view/command/orphaned_live_files.h"
#include "reporter/view/command/run.h"
#include "reporter/view/listing/format.h"
#include "reporter/view/system/output_check.h"
#include "reporter/view/text/device_text.h"
#include "reporter/view/text/oom_text.h"
#include "reporter/view/text/process_text.h"
#include "reporter/view/text/refusals_text.h"

namespace vramscope {
namespace {

// Of the report in a file, whose process is among its first fields; -1: not found there.
std::int64_t pid_in(const std::string& path) {
  constexpr std::size_t kBeginning = 4096;
  constexpr std::string_view kKey = "\"pid\":";
  const std::string head = beginning_of(path, kBeginning);
  const std::size_t at = head.find(kKey);
  if (at == head.npos) return -1;
  return std::strtoll(head.substr(at + kKey.size(), 20).c_str(), nullptr, 10);
}

std::uint64_t bytes_of(const std::vector<std::string>& paths) {
  std::uint64_t sum = 0;
  for (const std::string& path : paths) {
    std::error_code error;
    const std::uint64_t size = std::filesystem::file_size(path, error);
    if (!error) sum += size;
  }
  return sum;
}

// "8 processes; highest peak 172 MiB requested by r3 (24291); "; "": there is one.
std::string processes_text(const WrittenReport& written) {
  if (written.processes < 2) return "";
  std::string text = std::to_string(written.processes) + " processes; ";
  if (written.highest_bytes == 0) return text;
  return text + "highest peak " + amount_text(written.highest_bytes) + " requested by " +
         written.highest_by;
}

// Of several only what is of all of them, and of the highest, where that is known.
std::string recorded_text(const WrittenReport& written) {
  if (written.processes > 1 && written.highest_bytes != 0) return processes_text(written);
  std::string text = devices_line(written.report);
  if (text.empty()) text = "no device memory was allocated";
  if (written.are_several)
    text = processes_text(written) + titled_process(written.report.process) + ": " + text;
  if (const std::uint64_t kernels = written.report.process.simulated_launches; kernels != 0) {
    text += "; " + counted(kernels, "kernel") + " accepted but not executed";
  }
  if (written.models_contexts)
    text += "; each context is assumed to take as much memory as on an H200";
  const std::string more_refusals = other_refusals(written.report);
  return more_refusals.empty() ? text : text + ", " + more_refusals;
}

}  // namespace

std::vector<std::string> existing(std::vector<std::string> paths) {
  std::vector<std::string> found;
  for (auto path = paths.begin(); path != paths.end(); ++path) {
    std::error_code error;
    const bool comes_again = std::find(path + 1, paths.end(), *path) != paths.end();
    if (!comes_again && std::filesystem::exists(*path, error)) found.push_back(std::move(*path));
  }
  return found;
}

bool models_contexts(const Report& report) {
  const char* const settings = std::getenv(kSimulatorVariable);
  const bool is_set = settings != nullptr && std::strstr(settings, "context_bytes=") != nullptr;
  return report.process.simulated && !is_set;
}

bool has_other_processes(const std::vector<std::string>& paths, const Report& report) {
  return std::any_of(paths.begin(), paths.end(), [&](const std::string& path) {
    const std::int64_t pid = pid_in(path);
    return pid >= 0 && pid != report.process.pid;
  });
}

void count_processes(WrittenReport& written, const std::vector<std::string>& paths,
                     std::uint64_t most_bytes) {
  std::set<std::int64_t> processes;
  for (const std::string& path : paths) processes.insert(pid_in(path));
  processes.erase(-1);
  written.processes = std::max<std::size_t>(processes.size(), 1);
  if (written.processes == 1 || bytes_of(paths) > most_bytes) return;
  for (const std::string& path : paths) {
    const auto read = read_report(path);
    if (!std::holds_alternative<Report>(read)) continue;
    const Report& report = std::get<Report>(read);
    const std::uint64_t peak = peak_of(merged_processes(report).front());
    if (peak <= written.highest_bytes) continue;
    written.highest_bytes = peak;
    written.highest_by = titled_process(report.process);
  }
}

std::string report_of_refusal(const WrittenReport& written, const std::vector<std::string>& paths) {
  for (auto path = paths.rbegin(); path != paths.rend(); ++path) {
    const bool is_own = *path != written.path && pid_in(*path) == written.report.process.pid;
    if (is_own && is_of_trigger(*path, Trigger::oom)) return *path;
  }
  return "";
}

std::string common_folder(const std::vector<std::string>& paths, const std::string& seen) {
  const std::string first = paths.front().substr(0, paths.front().rfind('/'));
  for (const std::string& path : paths) {
    if (path.substr(0, path.rfind('/')) != first) return "";
  }
  return first == seen ? "." : seen_from(seen, first);
}

std::string seen_from(const std::string& folder, const std::string& path) {
  return path.starts_with(folder + "/") ? path.substr(folder.size() + 1) : path;
}

// With the frames that listings show: Python's where there are some.
std::string refused_text(const Report& report) {
  if (report.oom.events.empty()) return "";
  Report shown = report;
  choose_frames(shown, {});
  return oom_line(shown, names_from_symbols());
}

// Of memory that could not be exported: the option that would have let all of it.
static std::string export_refused_text(const Report& report) {
  std::string found;
  for (const std::string& warning : report.warnings) {
    if (warning.find(kCannotExport) == warning.npos) continue;
    if (found.empty() || warning.ends_with(" --mode dedicated")) found = warning;
  }
  return found;
}

std::vector<std::string> summary(const WrittenReport& written, std::size_t others) {
  const bool is_of_all = written.processes > 1 && written.highest_bytes != 0;
  std::string recorded = recorded_text(written);
  for (const std::string& warning : written.report.warnings) {
    if (warning.starts_with(kLimitOfNone)) recorded += "; " + warning;
  }
  const std::string unexported = export_refused_text(written.report);
  if (!unexported.empty()) recorded += "; " + unexported;
  const std::string refused = refused_text(written.report);
  if (!refused.empty())
    recorded += "; " + (is_of_all ? titled_process(written.report.process) + ": " : "") + refused;
  std::string more = taken_name(written.path);
  const bool is_of_two = !written.of_refusal.empty();
  if (is_of_two && trigger_of(written.report) == Trigger::exit) more += " (at exit)";
  if (is_of_two) --others;
  if (others != 0) more += " and " + std::to_string(others) + " more";
  if (is_of_two) more += "; when memory ran out: " + written.of_refusal;
  if (const TraceReport& trace = written.report.trace; !trace.path.empty() && !is_of_all) {
    more += ", " + counted(trace.events, "event") + " in " + trace.path + taken_name(trace.path);
    if (trace.lost != 0) more += " (" + counted(trace.lost, "event") + " lost)";
  }
  const std::string verb = refused.empty() || !written.next.empty() ? "report " : "oom ";
  return {
      recorded, written.place + written.path + more + written.others,
      "next: vramscope " + verb + shell_word(written.next.empty() ? written.path : written.next)};
}

}  // namespace vramscope
