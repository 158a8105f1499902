// Handles forks of the program.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "allocator/base/live_memory.h"
#include "interpose/driver/profiler.h"

namespace vramscope {

// CUDA cannot be used in a child of a process that used it. There every call goes to the driver,
// which refuses it, and nothing is recorded. A child that a signal handler forks inside a call of
// ours finishes that call on a copy of the live memory. Call it once; both arguments live as long
// as the process.
void handle_forks(Profiler& profiler, const LiveMemory& live) noexcept;

}  // namespace vramscope
