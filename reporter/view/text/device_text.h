// What each GPU held, as the screen of a report shows it: levels beside the capacity, what the
// cache served, and the memory that comes past the cache (managed, stream-ordered, virtual, arrays,
// graphs).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "reporter/view/listing/document.h"
#include "reporter/view/listing/format.h"

namespace vramscope {

struct Report;

// One section for each GPU that held memory, or a table when there are several.
[[nodiscard]] Document devices_text(const Report& report, const Page& page);

// The same on one line: "GPU 0: 34 allocations, peak 183 MiB requested (186 MiB allocated, 190 MiB
// reserved), 2 physical allocations, peak 1.00 GiB requested; GPU 1: ...".
[[nodiscard]] std::string devices_line(const Report& report);
// "pinned: 90 of 100 allocations from the cache, …", empty when none was.
[[nodiscard]] std::string pinned_text(const Report& report);

}  // namespace vramscope
