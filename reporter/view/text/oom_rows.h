// What oom_text() tells of refusals in a row each, below the two that it tells in full.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "reporter/report/oom_events.h"
#include "reporter/view/analysis/stacks/frames.h"
#include "reporter/view/listing/document.h"

namespace vramscope {

struct Report;

// "300 MiB", or "an allocation" where nobody knows how much that was.
[[nodiscard]] std::string asked_text(const OomEvent& event);

// "1st", of a refusal by its number.
[[nodiscard]] std::string ordinal_text(std::uint64_t number);

// "only refusal", "2nd of 3"; where each of several processes has its own count, "2nd of 2 of rank
// 1 (4711)".
[[nodiscard]] std::string which_refusal(const Report& report, const OomEvent& event);

// "sizes: 139 x 1.00 GiB, 4 x 64.0 MiB" of the largest share, where they are known and differ.
[[nodiscard]] std::string sizes_text(const Report& report, const OomEvent& event);
// How many refusals the report does not describe; "": it describes all.
[[nodiscard]] std::string further_refusals(const Report& report);
// Those between the first and the last, by call stack and memory.
void add_refused_too(Document& text, const Report& report, const NameFrame& name, const Page& page);

// What "(replaced)" means, where a stack of the refusals has such a frame; else "".
[[nodiscard]] std::string replaced_text(const Report& report, const NameFrame& name,
                                        const Page& page);

// Call stacks of which no allocation succeeded ever, at most `most` (0: all).
void add_never_served(Document& text, const Report& report, const NameFrame& name, const Page& page,
                      std::size_t most);

}  // namespace vramscope
