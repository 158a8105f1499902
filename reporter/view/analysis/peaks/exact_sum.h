// make_exact() says what processes held of a device together at most, where every one of them has
// its trace; make_peaks_exact() what each of them held.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "reporter/view/analysis/peaks/device_sum.h"
#include "reporter/view/analysis/process_figures.h"

namespace vramscope {

// `sums` are device_sums() of `reports`. Where the bounds are apart, and the traces of all
// processes that used the device are there, both become the peak of the sum, and `is_traced` is
// set; where those of some are there, the bounds become closer, and `is_partly_traced` is. A trace
// is looked for beside the report, then where the report says that it is. It counts if it has all
// events that the report names, and the same peaks. A call counts from its beginning; of one
// instant what was freed goes before what came. Bounds stay where the processes are of several
// hosts, or of two boots of one, and of a process that was killed, since nobody knows how long it
// held on. Takes 16 bytes for each allocation and free. May throw bad_alloc.
void make_exact(std::vector<DeviceSum>& sums, const std::vector<ReportOfProcess>& reports);

// The peak of one kind of memory and ordinal in all processes of a merged report together, as
// make_exact() has it of a device. Reads traces where bounds are apart. May throw bad_alloc.
struct SumOfKind {
  PeakBounds peak;
  bool is_traced = false;         // exactly, from traces
  bool is_partly_traced = false;  // traces of some tell of the bounds
};
[[nodiscard]] SumOfKind sum_of_kind(const Report& report, Kind kind, std::uint16_t device);

// Sets the traced peak of each process of which only bounds are known, and whose trace is there as
// above. May throw bad_alloc.
void make_peaks_exact(std::vector<ReportOfProcess>& reports);

// Sets the report's joint_bounds: a row for each device of which its process held several kinds of
// memory, exactly where its trace is there, which is read as a whole for that; none of several
// processes, and where rows were chosen. May throw bad_alloc.
void add_joint_bounds(Report& report);

}  // namespace vramscope
