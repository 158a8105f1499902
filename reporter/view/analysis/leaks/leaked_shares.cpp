// Puts leaks in the order of their bytes.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/leaks/leaked_shares.h"

#include <algorithm>
#include <tuple>

namespace vramscope {

Leaked leaked_of(const Report& report, const NameFrame& name) {
  Suppressions usual;
  usual.add_usual();
  Leaked leaked{leaks_of(report, usual, name)};
  std::uint64_t whole = 0;
  for (const Leak& leak : leaked.leaks.leaks) whole += leak.share.bytes;
  for (const Leak& leak : leaked.leaks.leaks) {
    leaked.shares.push_back(leak.share);
    leaked.shares.back().whole = whole;
  }
  std::stable_sort(leaked.shares.begin(), leaked.shares.end(), [](const Share& a, const Share& b) {
    return std::tie(b.bytes, a.site) < std::tie(a.bytes, b.site);
  });
  return leaked;
}

}  // namespace vramscope
