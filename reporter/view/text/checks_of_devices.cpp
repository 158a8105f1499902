// What is reserved and used of GPUs, against limits.
// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "reporter/report/memory_name.h"
#include "reporter/report/merged_process.h"
#include "reporter/report/report.h"
#include "reporter/view/analysis/peaks/device_peaks.h"
#include "reporter/view/analysis/subject.h"
#include "reporter/view/listing/format.h"
#include "reporter/view/text/checks.h"
#include "reporter/view/text/words.h"

namespace vramscope {
namespace {

void add(std::vector<Check>& checks, std::string what, const PeakBounds& bytes, std::uint64_t limit,
         const CheckedProcess& process) {
  Check check{.what = std::move(what),
              .value = bytes.upper,
              .limit = limit,
              .is_requested = false,
              .process = process};
  if (amount_text(bytes.lower) != amount_text(bytes.upper)) check.at_least = bytes.lower;
  checks.push_back(std::move(check));
}

// Where contexts and code were not measured, nothing but the size of the device bounds what was
// used.
void add_used(std::vector<Check>& checks, const GpuPeaks& use, std::uint64_t limit,
              const CheckedProcess& process) {
  const std::string used_on = "used on " + use.gpu + ", contexts and code ";
  if (const std::optional<PeakBounds> used = use.used())
    return add(checks, used_on + "included", *used, limit, process);
  const bool is_known = use.total_bytes != 0 && use.total_bytes <= limit && !use.adds_up;
  const PeakBounds bytes{.lower = use.reserved.lower,
                         .upper = is_known ? use.total_bytes : use.reserved.lower};
  add(checks, used_on + "not measured", bytes, limit, process);
  checks.back().is_least = !is_known;
}

void add_uses(std::vector<Check>& checks, const std::vector<GpuPeaks>& uses,
              const CheckLimits& limits, const CheckedProcess& process) {
  for (const GpuPeaks& use : uses) {
    if (limits.reserved)
      add(checks, "reserved (all kinds) on " + use.gpu, use.reserved, *limits.reserved, process);
    if (limits.used) add_used(checks, use, *limits.used, process);
  }
}

// Of each process by its own report; nothing where one is not there.
std::vector<std::vector<GpuPeaks>> uses_of_each(const Report& report, const std::string& file,
                                                const RunsNaming& naming) {
  std::vector<std::vector<GpuPeaks>> all;
  for (const MergedProcess& process : report.processes) {
    const std::optional<Report> own =
        read_own({.file = file, .process = process, .is_merged = true}, naming);
    if (!own) return {};
    all.push_back(device_peaks(*own));
  }
  return all;
}

}  // namespace

void add_device_limits(std::vector<Check>& checks, const Report& report, const std::string& file,
                       const CheckLimits& limits, const RunsNaming& naming) {
  if (!limits.reserved && !limits.used) return;
  const auto each = is_of_several(report) ? uses_of_each(report, file, naming)
                                          : std::vector<std::vector<GpuPeaks>>();
  for (std::size_t i = 0; i < each.size(); ++i) {
    add_uses(checks, each[i], limits, checked_process(report.processes[i].process));
  }
  if (each.empty()) add_uses(checks, device_peaks(report), limits, all_processes(report));
}

}  // namespace vramscope
