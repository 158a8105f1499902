// write_map() writes the segments of a page's map, small blocks that nobody could tell apart
// joined.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "reporter/view/html/page_of.h"
#include "reporter/view/text/frames.h"
#include "reporter/view/text/json_text.h"

namespace vramscope {

// The field "map" into an object: "summary", which is map_json() without segments, "states" (names
// of a block's states) and "segments": for each place of the summary {"shown", "left_out"}. Those
// that strand most come first; at most `most` of all, with four times as many blocks.
void write_map(JsonText& json, const PageOf& of, const NameFrame& name, std::size_t most);

}  // namespace vramscope
