// Looks beside a report for others of its process, and for its trace.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/command/report_of_instant.h"
#include "reporter/report/merged_process.h"

#include <cstdint>
#include <variant>
#include <vector>

#include "reporter/report/json.h"
#include "reporter/report/report.h"
#include "reporter/view/analysis/replay/trace_report.h"
#include "reporter/view/analysis/subject.h"
#include "reporter/view/command/inputs.h"

namespace vramscope {

std::string sibling_of(const Report& report, const std::string& path, Trigger trigger) {
  std::string last;
  std::uint64_t sequence = 0;
  for (const std::string& other : reports_beside(path, trigger)) {
    const auto read = read_report(other);
    const Report* const its = std::get_if<Report>(&read);
    const bool is_its = its != nullptr && identity_of(its->process) == identity_of(report.process);
    if (!is_its || its->sequence < sequence) continue;
    sequence = its->sequence;
    last = other;
  }
  return last;
}

std::string map_of_refusal(const Report& report, const std::string& path) {
  if (report.oom.count == 0 || is_merged(report)) return "";
  if (trigger_of(report) == Trigger::oom || !sibling_of(report, path, Trigger::oom).empty())
    return path;
  const std::vector<std::string> traces = trace_files(path, report.trace);
  return traces.empty() ? "" : traces.front();
}

}  // namespace vramscope
