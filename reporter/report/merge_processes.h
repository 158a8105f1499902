// The functions here make those parts of a merged report that follow from the list of its
// processes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace vramscope {

struct MergedProcess;
struct Report;

// The order in which they are listed.
[[nodiscard]] bool comes_before(const MergedProcess& a, const MergedProcess& b);

// Sets process, kinds, timeline, trace, oom and the sizes of devices by the report's processes,
// which are in order. May throw bad_alloc.
void set_by_processes(Report& report);

}  // namespace vramscope
