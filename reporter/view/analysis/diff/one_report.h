// is_one_report() tells whether a report is compared with itself.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace vramscope {

struct Report;

// Returns whether both are the same report of the same process, or were merged from the same
// reports. What is not known of them has then not changed either. May throw bad_alloc.
[[nodiscard]] bool is_one_report(const Report& before, const Report& after);

}  // namespace vramscope
