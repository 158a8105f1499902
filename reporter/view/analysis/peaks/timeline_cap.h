// cap_timeline() makes the timeline of several processes exceed no bound of their sum.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace vramscope {

struct Report;

// A bucket of a merged report adds what processes held at different instants of the bucket. Lowers
// each value to what they can have held together of that memory: the upper bound of sum_of_kind().
// Changes nothing of one process, nor if rows were chosen. May throw bad_alloc.
void cap_timeline(Report& report);

}  // namespace vramscope
