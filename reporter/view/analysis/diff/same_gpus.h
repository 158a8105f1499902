// number_gpus_as_in() gives the GPUs of a report the numbers that they have in another report.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace vramscope {

struct Report;

// A GPU of `after` is the GPU of `before` with the same UUID, also if processes numbered it
// differently. A GPU for which there is none is compared with the GPU of the same number. Others
// are in `before` alone and get numbers that `after` does not use, and names that differ from those
// of `after`. `before` is a whole report. May throw bad_alloc.
void number_gpus_as_in(const Report& after, Report& before);

}  // namespace vramscope
