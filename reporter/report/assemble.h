// assemble() makes a report of its parts: what the allocator counted by tag becomes sites, axes,
// kinds and the ledger.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace vramscope {

struct Report;
struct ReportParts;

// May throw bad_alloc.
[[nodiscard]] Report assemble(ReportParts parts);

}  // namespace vramscope
