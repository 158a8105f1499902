// live_parts() makes the parts of a report from an image of a live file.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "allocator/base/live_memory.h"
#include "allocator/base/snapshot.h"
#include "reporter/report/live/live_process.h"
#include "reporter/report/live/sandbox.h"
#include "reporter/report/parts.h"

namespace vramscope {

// Returns everything except trigger, trace and the signal that ended the process. The time of the
// report is the last instant at which anything is known to have happened. known, memory: what was
// read from that image. Throws what recover_facts() throws.
[[nodiscard]] ReportParts live_parts(const LiveHeader& header, const RecoveredProcess& known,
                                     Snapshot memory);

// Returns what a child process may take that reads a live file.
[[nodiscard]] ApartLimits limits_for(int file);

}  // namespace vramscope
