// growth_of() says how the memory of a site grew, lifetime_decade() classifies how long allocations
// lived.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace vramscope {

struct Site;

// Returns in how many tenths of the run the site allocated bytes that are still live. A leak did so
// in all of them; memory that is always replaced only in the last.
[[nodiscard]] std::size_t tenths_of_growth(const Site& site);

// How the site's live bytes rose over the last intervals of the run, up to the report: since they
// last fell.
struct Growth {
  std::size_t rises = 0;      // intervals at whose end more was live than at their beginning
  std::size_t intervals = 0;  // of the run, including the unfinished one
  std::uint64_t bytes = 0;    // increase since then
};
[[nodiscard]] Growth growth_of(const Site& site);

// Returns the index in Site::lifetimes for a lifetime of that length.
[[nodiscard]] std::size_t lifetime_decade(std::uint64_t ns);
inline void count_at(std::vector<std::uint64_t>& counts, std::size_t entry) {
  if (counts.size() <= entry) counts.resize(entry + 1);
  ++counts[entry];
}

}  // namespace vramscope
