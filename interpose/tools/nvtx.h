// NVTX ranges and marks, which programs and libraries name, are taken here. We are the injection
// library that NVTX loads, and pass every call on to another one if the user has one.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reporter/record/range_table.h"

namespace vramscope {

// The ranges of this process; null while no part of it uses NVTX, and in a forked child.
// Threads: any.
[[nodiscard]] RangeTable* ranges() noexcept;

// The same, made where there are none yet; null in a forked child only. May throw bad_alloc.
[[nodiscard]] RangeTable* ranges_or_make();

// The live file gets the ranges too: called when there are some and when there is a profiler.
void show_ranges() noexcept;

// In a forked child: its locks may be held by threads that it does not have.
void abandon_ranges() noexcept;

}  // namespace vramscope
