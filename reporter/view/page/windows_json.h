// write_windows() writes the totals of a trace's parts for a page.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reporter/view/analysis/replay/trace_windows.h"
#include "reporter/view/listing/json_text.h"
#include "reporter/view/page/page_sites.h"

namespace vramscope {

// Writes the field "windows" into an object: "part_ns", "highest" (by memory, for each part),
// "rows" (by row of `sites`) and "others" (by memory), each a list of parts in which something
// changed: [part, bytes and blocks when that memory held most, bytes and blocks at the end, bytes,
// calls and ns of allocations], and "sizes" and "lives" of each part.
void write_windows(JsonText& json, const TraceWindows& windows, const PageSites& sites);

}  // namespace vramscope
