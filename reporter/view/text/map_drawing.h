// The segments of a memory as rows of characters, a drawing for each pool.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "reporter/view/analysis/map_moment.h"
#include "reporter/view/analysis/memory_map.h"
#include "reporter/view/analysis/stacks/frames.h"
#include "reporter/view/listing/document.h"
#include "reporter/view/listing/format.h"

namespace vramscope {

struct Report;

// "12.3 s", of what was allocated then; "" not known.
[[nodiscard]] std::string age_text(std::int64_t born_ns, std::uint64_t at_ns);

// most: rows of each pool that a page has usually; 0: all, and idle segments, too. The pool with
// most in a segment that cannot go back comes first.
[[nodiscard]] std::vector<RowsBlock> map_drawings(const Report& report, const MapPlace& place,
                                                  const MapMoment& moment, const NameFrame& name,
                                                  const Page& page, std::size_t most);

}  // namespace vramscope
