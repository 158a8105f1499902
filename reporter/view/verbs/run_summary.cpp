// What vramscope run says when the program has ended: what was recorded, where, and what to do
// next.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <string_view>

#include "reporter/view/outside/output_check.h"
#include "reporter/view/text/device_text.h"
#include "reporter/view/text/format.h"
#include "reporter/view/text/oom_text.h"
#include "reporter/view/verbs/left_behind.h"
#include "reporter/view/verbs/run.h"

namespace vramscope {
namespace {

// "train (4711)".
std::string whose(const Report& report) {
  const std::string& program = report.process.executable;
  return program.substr(program.rfind('/') + 1) + " (" + std::to_string(report.process.pid) + ")";
}

// Of the report in a file, whose process is among its first fields; -1: not found there.
std::int64_t pid_in(const std::string& path) {
  std::array<char, 4096> head{};
  std::ifstream file(path, std::ios::binary);
  file.read(head.data(), head.size());
  const std::string_view text(head.data(), static_cast<std::size_t>(file.gcount()));
  constexpr std::string_view kKey = "\"pid\":";
  const std::size_t at = text.find(kKey);
  if (at == text.npos) return -1;
  return std::strtoll(std::string(text.substr(at + kKey.size(), 20)).c_str(), nullptr, 10);
}

}  // namespace

bool has_other_processes(const std::vector<std::string>& paths, const Report& report) {
  return std::any_of(paths.begin(), paths.end(), [&](const std::string& path) {
    const std::int64_t pid = pid_in(path);
    return pid >= 0 && pid != report.process.pid;
  });
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

std::vector<std::string> summary(const WrittenReport& written, std::size_t others) {
  std::string recorded = devices_line(written.report);
  if (recorded.empty()) recorded = "no device memory was allocated";
  if (written.are_several) recorded = whose(written.report) + ": " + recorded;
  if (const std::uint64_t kernels = written.report.process.simulated_launches; kernels != 0) {
    recorded += "; " + counted(kernels, "kernel") + " accepted, not executed";
  }
  const std::string refused = oom_line(written.report, names_from_symbols());
  if (!refused.empty()) recorded += "; " + refused;
  std::string more = taken_name(written.path);
  if (others != 0) more += " and " + std::to_string(others) + " more";
  if (const TraceReport& trace = written.report.trace; !trace.path.empty()) {
    more += ", " + counted(trace.events, "event") + " in " + trace.path + taken_name(trace.path);
    if (trace.lost != 0) more += " (" + counted(trace.lost, "event") + " lost)";
  }
  const std::string verb = refused.empty() || !written.next.empty() ? "report " : "oom ";
  return {
      recorded, written.place + written.path + more + written.others,
      "next: vramscope " + verb + shell_word(written.next.empty() ? written.path : written.next)};
}

}  // namespace vramscope
