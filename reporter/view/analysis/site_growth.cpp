// Counts intervals in which a site grew.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/site_growth.h"

#include <algorithm>
#include <vector>

#include "reporter/report/report.h"

namespace vramscope {

std::size_t tenths_of_growth(const Site& site) {
  return static_cast<std::size_t>(std::count_if(site.live_by_age.begin(), site.live_by_age.end(),
                                                [](std::uint64_t bytes) { return bytes != 0; }));
}

Growth growth_of(const Site& site) {
  std::vector<std::uint64_t> live = {0};  // at the beginning
  live.insert(live.end(), site.live_past.begin(), site.live_past.end());
  live.push_back(site.totals.live_bytes);
  Growth growth{.rises = 0, .intervals = live.size() - 1, .bytes = 0};
  for (std::size_t i = live.size() - 1; i > 0 && live[i] >= live[i - 1]; --i) {
    growth.rises += live[i] > live[i - 1] ? 1 : 0;
    growth.bytes = live.back() - live[i - 1];
  }
  return growth;
}

std::size_t lifetime_decade(std::uint64_t ns) {
  std::size_t decade = 0;
  for (std::uint64_t end = 1000; decade + 1 < kLifetimes && ns >= end; end *= 10) ++decade;
  return decade;
}

}  // namespace vramscope
