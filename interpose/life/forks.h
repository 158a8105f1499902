// What becomes of us when the program forks.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "allocator/ground/live_memory.h"
#include "interpose/driver/profiler.h"

namespace vramscope {

// CUDA cannot be used in a child of a process that used it: there every call goes to the driver,
// which says so, and nothing is recorded. A child that a signal handler forks amid a call of ours
// finishes that call, on a copy of what is live. Once; both live as long as the process.
void handle_forks(Profiler& profiler, const LiveMemory& live) noexcept;

}  // namespace vramscope
