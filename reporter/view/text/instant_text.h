// instant_text() names an instant that a person asked for; instant_problem() says why there is
// none.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "reporter/view/analysis/replay/asked_instant.h"
#include "reporter/view/listing/format.h"

namespace vramscope {

// "at 1.50 s", "at the end", "at mark step (3 of 8), after 1.50 s".
[[nodiscard]] std::string instant_text(const AskedInstant& instant, const Page& page);

// "at mark step (3 of 8)", "before the first allocation in range step (3 of 8)", harmless.
[[nodiscard]] std::string mark_text(const AskedInstant& instant);

// What a trace does not have of what was asked for: "ends after 251 ms, before --at 100 s", "has no
// mark 'x'; marks: half, step". For stderr.
[[nodiscard]] std::string instant_problem(const AskedInstant& instant, std::string_view option,
                                          std::uint64_t length_ns);

// As a check of an argument: "", or why it is no instant. Any text may be the name of a mark.
[[nodiscard]] std::string no_instant_or_mark(const std::string& given);

}  // namespace vramscope
