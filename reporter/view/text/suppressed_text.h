// What suppressions left out of the leaks, and which of them left nothing out.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "reporter/view/analysis/leaks/leaks.h"
#include "reporter/view/analysis/leaks/suppressions.h"
#include "reporter/view/listing/document.h"

namespace vramscope {

// Of the files that were given; nobody expects all that comes with Vramscope to be needed.
[[nodiscard]] std::vector<const Suppression*> unused_suppressions(const Leaks& leaks,
                                                                  const Suppressions& suppressions);

// " 6.00 GiB held by PyTorch's cache and 36.0 MiB that suppressions leave out"; "": nothing stays
// by design.
[[nodiscard]] std::string suppressed_clause(const Leaks& leaks);

// A line for each framework's cache that holds memory.
[[nodiscard]] Document caches_text(const Leaks& leaks);

// A table of those that were used, and a line of the others.
[[nodiscard]] Document suppressed_text(const Leaks& leaks, const Suppressions& suppressions,
                                       const Page& page);

}  // namespace vramscope
