// set_by_processes() makes the parts of a merged report that follow from its list of processes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace vramscope {

struct MergedProcess;
struct Report;
class ProcessList;

// Defines the order in which processes are listed.
[[nodiscard]] bool comes_before(const MergedProcess& a, const MergedProcess& b);

// Sets process, kinds, timeline, trace, oom and the sizes of devices from the processes, which are
// in order. The report's own list may be brief (ProcessStore). May throw bad_alloc, and whatever
// `processes` throws.
void set_by_processes(Report& report, const ProcessList& processes);

}  // namespace vramscope
