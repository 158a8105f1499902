// Stacks of all sites by numbers of their frames, put in order to see how far neighbours agree.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/export/site_places.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "reporter/view/analysis/stacks/frames.h"
#include "reporter/view/listing/format.h"

namespace vramscope {
namespace {

constexpr std::size_t kMostInARow = 8;

template <class Stack>
std::size_t frames_in_common(const Stack& a, const Stack& b) {
  const auto end = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first;
  return static_cast<std::size_t>(end - a.begin());
}

}  // namespace

SitePlaces::SitePlaces(const Exported& exported) {
  const Report& report = exported.report();
  const NameFrame& name = exported.name();
  std::unordered_map<std::string, std::uint32_t> numbers;
  NumberedCallers callers(report, name, [&](const Caller& caller) {
    const auto next = static_cast<std::uint32_t>(frames_.size());
    const auto [known, is_new] = numbers.try_emplace(harmless(vramscope::text(caller)), next);
    if (is_new) frames_.push_back(known->first);
    return known->second;
  });
  for (const Site& site : report.sites) stacks_.push_back(callers.of(site, kAllFrames));

  std::vector<std::size_t> order(stacks_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return stacks_[a] < stacks_[b]; });
  in_a_row_.assign(stacks_.size(), kFramesShown);
  for (std::size_t i = 1; i < order.size(); ++i) {
    const std::size_t needed = 1 + frames_in_common(stacks_[order[i - 1]], stacks_[order[i]]);
    for (const std::size_t site : {order[i - 1], order[i]}) {
      in_a_row_[site] = std::min(kMostInARow, std::max(in_a_row_[site], needed));
    }
  }
}

std::string SitePlaces::row(std::size_t site) const { return text(stacks_[site], in_a_row_[site]); }

std::string SitePlaces::whole(std::size_t site) const { return text(stacks_[site], kAllFrames); }

std::string SitePlaces::text(const Stack& stack, std::size_t most) const {
  if (stack.empty()) return "unknown stack";
  std::string result;
  for (std::size_t i = 0; i < std::min(most, stack.size()); ++i) {
    result.append(i == 0 ? "" : " < ").append(frames_[stack[i]]);
  }
  return stack.size() > most ? result + " < .." : result;
}

}  // namespace vramscope
