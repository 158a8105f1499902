// tree_text() shows call sites as one tree, from where the program began down to what it called.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "reporter/view/analysis/report_figures.h"
#include "reporter/view/analysis/stacks/frames.h"
#include "reporter/view/listing/document.h"

namespace vramscope {

struct Report;

// Bytes, share and count of each function with all that it called, the largest first. A function
// that calls only one other stands above it, at the same depth. `title` is that of the bytes.
// Shares of one whole, the largest first: sums are of all of them, and rows lead to at most `most`,
// 0 for all. Those of several kinds of memory, or devices, have a tree each, below its name, and
// are shares of that.
[[nodiscard]] Document tree_text(const Report& report, const NameFrame& name,
                                 const std::vector<Share>& shares, const std::string& title,
                                 const Page& page, std::size_t most);

}  // namespace vramscope
