// refine_from_traces() determines exactly what processes held of a device together at most, if each
// has its trace.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "reporter/view/analysis/peaks/device_sum.h"
#include "reporter/view/analysis/process_figures.h"
#include "reporter/view/trial/trial_runs.h"

namespace vramscope {

// `sums` are device_sums() of `reports`. If the bounds differ, and the traces of all processes that
// used the device exist, both bounds become the peak of the sum, and `is_traced` is set. If only
// some traces exist, the bounds become closer, and `is_partly_traced` is set. A trace is looked for
// next to the report, then at the path in the report. It counts if it has all events that the
// report names, from the beginning of the run on, and the same peaks. A call counts from its
// beginning; at one instant, frees come before allocations. Bounds are not changed if the processes
// are of several hosts, or of two boots of one host, nor for a killed process, since the end of its
// memory is unknown. Takes 16 bytes for each allocation and free. Reads traces on all cores. May
// throw bad_alloc and system_error.
void refine_from_traces(std::vector<DeviceSum>& sums, const std::vector<ReportOfProcess>& reports,
                        const TellShare& tell = {});

// The peak of one kind of memory and ordinal over all processes of a merged report, determined as
// in refine_from_traces(). Reads traces if the bounds differ. May throw bad_alloc.
struct SumOfKind {
  PeakBounds peak;
  bool is_traced = false;         // the peak is exact, from traces
  bool is_partly_traced = false;  // the bounds come in part from traces
};
[[nodiscard]] SumOfKind sum_of_kind(const Report& report, Kind kind, std::uint16_t device);

// Sets the report's joint_bounds: a row for each device of which its process held several kinds of
// memory. The row is exact if the process's trace exists, all of which is then read. A report of
// several processes, or with chosen rows, gets none. May throw bad_alloc.
void add_joint_bounds(Report& report);

}  // namespace vramscope
