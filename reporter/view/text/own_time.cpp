// Finds the process that an event of a merged report is of.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/own_time.h"

#include <algorithm>

#include "reporter/report/report.h"
#include "reporter/view/analysis/refused_requests.h"
#include "reporter/view/analysis/subject.h"
#include "reporter/view/listing/format.h"

namespace vramscope {
namespace {

std::uint64_t began_later(const Report& report, const MergedProcess& process) {
  const std::uint64_t first = report.timeline.start_ns;
  return process.timeline.start_ns - std::min(first, process.timeline.start_ns);
}

}  // namespace

std::uint64_t own_peak_ns(const Report& report, const KindFacts& kind) {
  for (const MergedProcess& process : report.processes) {
    const std::uint64_t later = began_later(report, process);
    for (const KindFacts& its : process.kinds) {
      const bool is_it = its.kind == kind.kind && its.device == kind.device &&
                         its.peak_thread == kind.peak_thread && its.peak_ns + later == kind.peak_ns;
      if (is_it) return its.peak_ns;
    }
  }
  return kind.peak_ns;
}

std::uint64_t own_time_ns(const Report& report, const OomEvent& event) {
  return own_refusal(report, event).event->time_ns;
}

std::string own_time_text(const Report& report, std::uint64_t own_ns, std::uint64_t ns) {
  if (!is_of_several(report)) return "after " + duration_text(ns);
  return duration_text(own_ns) + " after its process began (" + duration_text(ns) +
         " after the first process began)";
}

}  // namespace vramscope
