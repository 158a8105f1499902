// leaks_text() shows what was never freed, leaks_json() the same as JSON.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "reporter/view/analysis/leaks/framework_caches.h"
#include "reporter/view/analysis/leaks/leak_holders.h"
#include "reporter/view/analysis/leaks/leaks.h"
#include "reporter/view/analysis/stacks/site_fronts.h"
#include "reporter/view/listing/columns.h"
#include "reporter/view/listing/document.h"

namespace vramscope {

struct LeaksChoice {
  std::size_t most = 0;                           // places, 0 for all
  bool whole_stacks = false;                      // of all of them, with types, files and objects
  std::string path = {};                          // the report's file, for the next command
  TypedOptions suppressions = {};                 // that were typed, for that too
  std::shared_ptr<const SiteFronts> fronts = {};  // filled where a rate names a function
};

// The report and the names outlive it.
[[nodiscard]] Document leaks_text(const Report& report, const Leaks& leaks,
                                  const Suppressions& suppressions, const NameFrame& name,
                                  const Page& page, const LeaksChoice& choice);
[[nodiscard]] std::string leaks_json(const Report& report, const Leaks& leaks,
                                     const Suppressions& suppressions, const NameFrame& name,
                                     std::size_t most);

// What leaks_json() writes. The report and the suppressions outlive it.
[[nodiscard]] Columns<Leaks> leaks_fields(const Report& report, const Suppressions& suppressions,
                                          const NameFrame& name, std::size_t most);
// Of a merged report what each process left, in its order.
[[nodiscard]] std::vector<LeakHolder> left_by_process(const Report& report, const Leaks& leaks);

// Of each memory, and of a row for each place. The report outlives them.
[[nodiscard]] Columns<LeakedMemory> leaked_memory_columns(const Report& report);
[[nodiscard]] Columns<Leak> leak_columns(const Report& report, const NameFrame& name);

}  // namespace vramscope
