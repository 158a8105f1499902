// beyond_requests_text() says what a cache's memory beyond requests is, and how much of it the
// driver can have back.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace vramscope {

struct LedgerEntry;
struct Report;

// "70.0 MiB idle, which is released before a request is refused; 1.96 MiB free beside live blocks
// and 2.78 MiB of rounding, which cannot be released: see vramscope map". cached: the row of the
// ledger, of a report of one process.
[[nodiscard]] std::string beyond_requests_text(const Report& report, const LedgerEntry& cached);

}  // namespace vramscope
