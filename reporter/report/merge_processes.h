// set_by_processes() makes the parts of a merged report that follow from its list of processes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace vramscope {

struct MergedProcess;
struct Report;

// Defines the order in which processes are listed.
[[nodiscard]] bool comes_before(const MergedProcess& a, const MergedProcess& b);

// Sets process, kinds, timeline, trace, oom and the sizes of devices from the report's processes,
// which are in order. May throw bad_alloc.
void set_by_processes(Report& report);

}  // namespace vramscope
