// A hand-made report that the views' tests show: small numbers, known sites.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reporter/report/report.h"
#include "reporter/view/analysis/stacks/frames.h"

namespace vramscope {

// `train --epochs 3` on one used device of 128 GiB and one unused. Site 0 (make_weights) and site 1
// (forward, in a library) allocate device memory, site 2 (read_batch) pinned memory.
[[nodiscard]] Report sample_report();

// Memory of that run that ran out: 300 MiB for site 1, looked at, and 64 MiB pinned for site 2.
[[nodiscard]] OomReport sample_refusals();

// Names for the frames of sample_report, as its modules' symbols would give.
[[nodiscard]] NameFrame sample_names();

// A run whose stacks are long and alike, with several kinds of memory, and the names of its frames:
// what the texts in golden/ show.
[[nodiscard]] Report golden_report();
[[nodiscard]] NameFrame golden_names();

}  // namespace vramscope
