// How the memory of a site grew, and how long its allocations lived.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace vramscope {

struct Site;

// In how many tenths of the run the site allocated bytes that are still there: what leaks did in
// all of them, what is replaced all the time only in the last.
[[nodiscard]] std::size_t tenths_of_growth(const Site& site);

// How the site's live bytes rose over the last intervals of the run, up to the report: since they
// last fell.
struct Growth {
  std::size_t rises = 0;      // intervals at whose end more was live than at their beginning
  std::size_t intervals = 0;  // of the run, with the one that is not over
  std::uint64_t bytes = 0;    // more than then
};
[[nodiscard]] Growth growth_of(const Site& site);

// Where Site::lifetimes counts a life of that length.
[[nodiscard]] std::size_t lifetime_decade(std::uint64_t ns);
inline void count_at(std::vector<std::uint64_t>& counts, std::size_t entry) {
  if (counts.size() <= entry) counts.resize(entry + 1);
  ++counts[entry];
}

}  // namespace vramscope
