// goes_back_text() says how much of the cache's free memory the driver can have back.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace vramscope {

struct LedgerEntry;
struct Report;

// "; it goes back before a request is refused, ...", of free memory in our segments only as far as
// no live block lies beside it, where the report tells of one process and has segments. cached: the
// row of the ledger.
[[nodiscard]] std::string goes_back_text(const Report& report, const LedgerEntry& cached);

}  // namespace vramscope
