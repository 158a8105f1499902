// Finds a process's figures in what was read of it.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/running_program.h"

#include <algorithm>

#include "reporter/report/files/file_name.h"
#include "reporter/report/live/live_reading.h"
#include "reporter/report/report.h"

namespace vramscope {
namespace {

std::uint64_t age_of(const ProcessFacts& process) {
  return process.report_time_ns - std::min(process.start_time_ns, process.report_time_ns);
}

}  // namespace

std::uint64_t device_live(const Report& report) {
  std::uint64_t bytes = 0;
  for (const KindFacts& kind : report.kinds) {
    if (takes_device_memory(kind.kind)) bytes += kind.current_bytes;
  }
  return bytes;
}

std::map<std::uint16_t, std::uint64_t> requested_peaks(const Report& report) {
  std::map<std::uint16_t, std::uint64_t> peaks;
  for (const KindFacts& kind : report.kinds) {
    if (takes_device_memory(kind.kind)) peaks[kind.device] += kind.peak_bytes;
  }
  for (const JointPeak& joint : report.joint_peaks) {
    peaks[joint.facts.device] = joint.facts.peak_bytes;
  }
  return peaks;
}

RunningProgram running_program(std::int64_t pid, const std::string& live_file,
                               const LiveReading& reading) {
  RunningProgram found{.pid = pid, .live_file = live_file, .problem = reading.problem};
  if (!reading.report) return found;
  const Report& report = *reading.report;
  found.program = program_name(report.process.executable, report.process.arguments);
  found.age_ns = age_of(report.process);
  for (const KindFacts& kind : report.kinds) {
    const bool is_known = std::ranges::count(found.devices, kind.device) != 0;
    if (takes_device_memory(kind.kind) && !is_known) found.devices.push_back(kind.device);
  }
  std::ranges::sort(found.devices);
  found.live_bytes = device_live(report);
  found.peak_bytes = 0;
  for (const auto& [device, peak] : requested_peaks(report)) *found.peak_bytes += peak;
  found.mode = report.process.mode;
  found.report = reading.next_report;
  return found;
}

}  // namespace vramscope
