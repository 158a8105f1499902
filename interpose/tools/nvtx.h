// Receives NVTX ranges and marks of programs and libraries. We are the injection library that NVTX
// loads, and pass every call on to the user's own injection library if there is one.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reporter/record/range_table.h"

namespace vramscope {

// Returns the ranges of this process; null while no part of it uses NVTX, and in a forked child.
// Threads: any.
[[nodiscard]] RangeTable* ranges() noexcept;

// The same, but makes them if necessary; null only in a forked child. May throw bad_alloc.
[[nodiscard]] RangeTable* ranges_or_make();

// Makes the ranges visible in the live file. Called when there are ranges and when there is a
// profiler.
void show_ranges() noexcept;

// In a forked child: gives up the ranges, whose locks may be held by threads that the child lacks.
void abandon_ranges() noexcept;

}  // namespace vramscope
