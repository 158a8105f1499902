// Looks for the front of each site's stack.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/stacks/site_fronts.h"

#include <algorithm>

#include "reporter/report/report.h"
#include "reporter/view/analysis/stacks/inner_frames.h"
#include "reporter/view/analysis/stacks/stack_front.h"

namespace vramscope {
namespace {

using CallerStacks = std::vector<std::vector<std::uint32_t>>;  // numbers of callers

void leave_out_inner(CallerStacks& stacks, const std::vector<Caller>& callers) {
  std::vector<FrameSort> sorts;
  sorts.reserve(callers.size());
  for (const Caller& caller : callers) sorts.push_back(sort_of(caller));
  std::vector<FrameSort> frames;
  for (std::vector<std::uint32_t>& stack : stacks) {
    frames.clear();
    for (const std::uint32_t caller : stack) frames.push_back(sorts[caller]);
    const std::vector<std::size_t> kept = outer_frames(frames, true).kept;
    for (std::size_t i = 0; i < kept.size(); ++i) stack[i] = stack[kept[i]];
    stack.resize(kept.size());
  }
}

}  // namespace

SiteFronts fronts_of_sites(std::span<const Report* const> reports, const NameFrame& name) {
  SiteFronts result;
  FrontFrames frames;
  CallerStacks stacks;  // of all reports
  for (const Report* report : reports) {
    NumberedCallers callers(*report, name, [&](const Caller& caller) {
      const std::uint32_t number = frames.number(caller);
      if (number == result.callers.size()) result.callers.push_back(caller);
      return number;
    });
    for (const Site& site : report->sites) stacks.push_back(callers.of(site, kFramesCompared));
  }
  leave_out_inner(stacks, result.callers);
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

FrontStacks::FrontStacks(const Report& report, const NameFrame& name)
    : report_(report),
      name_(name),
      fronts_(fronts_of_sites(std::vector<const Report*>{&report}, name)) {}

CallSite FrontStacks::of(std::size_t site, std::size_t most) const {
  CallSite stack = call_site_in_text(report_, report_.sites[site], name_, kAllFrames);
  const std::uint32_t number = fronts_.of_sites.front()[site];
  if (number != SiteFronts::kUnknown) {
    const Caller& front = fronts_.callers[number];
    const auto found =
        std::find_if(stack.callers.begin(), stack.callers.end(), [&](const Caller& caller) {
          return caller.function == front.function &&
                 without_line(caller.place) == without_line(front.place);
        });
    if (found != stack.callers.end()) stack.callers.erase(stack.callers.begin(), found);
  }
  stack.callers.resize(std::min(most, stack.callers.size()));
  return stack;
}

}  // namespace vramscope
