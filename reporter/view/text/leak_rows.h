// LeakRow is a place where several processes left memory; leak_rows_text() lists them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "reporter/view/analysis/leaks/leak_holders.h"
#include "reporter/view/analysis/leaks/leaks.h"
#include "reporter/view/analysis/stacks/frames.h"
#include "reporter/view/listing/document.h"

namespace vramscope {

// A place and who holds its memory.
struct LeakRow {
  std::string memory;  // "GPU 0"
  SharedCallers callers = {};
  LeakClass looks = LeakClass::kept;
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;
  std::vector<LeakHolder> holders = {};  // the largest first; empty: nobody knows
};
// With the callers of the share's site.
[[nodiscard]] LeakRow row_of(const Report& report, const Leak& leak, const NameFrame& name);
// "and 7 more call sites (-n 0 for all)"; "": none.
[[nodiscard]] std::string more_sites_text(std::size_t count);
// A table of the `most` largest rows, 0 for all, of so many processes. measured_in: what the runs
// are measured in, of which classes have tenths.
[[nodiscard]] Document leak_rows_text(std::vector<LeakRow> rows, std::size_t processes,
                                      const Page& page, std::size_t most,
                                      std::string_view measured_in = "allocations");

}  // namespace vramscope
