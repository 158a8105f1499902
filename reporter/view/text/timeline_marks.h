// Marks of a timeline in words: peaks, refusals, ends.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "reporter/report/memory_name.h"
#include "reporter/view/analysis/run_timeline.h"
#include "reporter/view/listing/format.h"

namespace vramscope {

// "GPU 0", "GPU 0, all kinds", "pinned"; of a curve or a mark.
template <typename Of>
std::string whose_memory(const Of& of) {
  return of.memory + (of.is_of_all_kinds ? ", all kinds" : "");
}

// By time; where there are too many, peaks yield to what is no peak, small ones to large ones,
// and all of them to the ends of processes.
[[nodiscard]] std::vector<RunMark> told_marks(std::vector<RunMark> marks, std::size_t most);

// In the row below the curves.
[[nodiscard]] char sign_of(const RunMark& mark);

// "^ 12.7 ms: peak of GPU 0, 183 MiB".
[[nodiscard]] std::string mark_text(const RunMark& mark, const Page& page);

}  // namespace vramscope
