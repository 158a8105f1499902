// The front of a site is the frame for which it counts when sites are added up by function, file,
// library or line: the innermost frame that is not inner (inner_frames.h), not in the standard
// library, and not a wrapper (stack_front.h).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "reporter/view/analysis/stacks/frames.h"

namespace vramscope {

struct Report;

struct SiteFronts {
  static constexpr std::uint32_t kUnknown = std::numeric_limits<std::uint32_t>::max();
  std::vector<Caller> callers;                       // by number
  std::vector<std::vector<std::uint32_t>> of_sites;  // by report and site: a number, or kUnknown
};

// Takes several reports together, so that a function is a wrapper in all of them or in none. May
// throw bad_alloc.
[[nodiscard]] SiteFronts fronts_of_sites(std::span<const Report* const> reports,
                                         const NameFrame& name);

// The stacks of a report as rows show them, from their fronts on. Refers to its arguments. Threads:
// one. May throw bad_alloc.
class FrontStacks {
 public:
  FrontStacks(const Report& report, const NameFrame& name);
  // Returns at most `most` frames.
  [[nodiscard]] CallSite of(std::size_t site, std::size_t most) const;

 private:
  const Report& report_;
  const NameFrame& name_;
  SiteFronts fronts_;
};

}  // namespace vramscope
