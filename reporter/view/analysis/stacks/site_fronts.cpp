// Looks for the front of each site's stack.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/stacks/site_fronts.h"

#include "reporter/report/report.h"
#include "reporter/view/analysis/stacks/stack_front.h"

namespace vramscope {

SiteFronts fronts_of_sites(std::span<const Report* const> reports, const NameFrame& name) {
  SiteFronts result;
  FrontFrames frames;
  std::vector<std::vector<std::uint32_t>> stacks;  // of all reports
  for (const Report* report : reports) {
    NumberedCallers callers(*report, name, [&](const Caller& caller) {
      const std::uint32_t number = frames.number(caller);
      if (number == result.callers.size()) result.callers.push_back(caller);
      return number;
    });
    for (const Site& site : report->sites) stacks.push_back(callers.of(site, kFramesCompared));
  }
  const std::vector<std::size_t> fronts = fronts_of(stacks, frames.all());
  std::size_t next = 0;
  for (const Report* report : reports) {
    std::vector<std::uint32_t>& numbers = result.of_sites.emplace_back();
    for (std::size_t i = 0; i < report->sites.size(); ++i, ++next) {
      const std::vector<std::uint32_t>& stack = stacks[next];
      numbers.push_back(stack.empty() ? SiteFronts::kUnknown : stack[fronts[next]]);
    }
  }
  return result;
}

}  // namespace vramscope
