// Asks the loader about its first object, since each object carries the counts of all.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/record/stack/loaded_counts.h"

#include <link.h>

#include <cstddef>

namespace vramscope {

LoadedCounts count_loaded() noexcept {
  LoadedCounts counts;
  dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* out) noexcept {
        *static_cast<LoadedCounts*>(out) = {object->dlpi_adds, object->dlpi_subs};
        return 1;
      },
      &counts);
  return counts;
}

}  // namespace vramscope
