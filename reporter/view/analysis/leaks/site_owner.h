// owner_of_site() and the other functions here name the owners of call sites.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "reporter/report/report.h"
#include "reporter/view/analysis/report_figures.h"

namespace vramscope {

// Returns the site's stack as it was recorded; the first one if a view joined several sites.
[[nodiscard]] inline const std::vector<std::uint32_t>& first_stack(const Site& site) {
  return site.whole.empty() ? site.frames : site.whole.front().frames;
}

// Returns the owner of a stack's memory, see StackOwner. frames: the whole stack, innermost first.
// May throw bad_alloc.
[[nodiscard]] std::string owner_of_stack(const Report& report,
                                         const std::vector<std::uint32_t>& frames);
// Returns the owner of a site's memory; if its stacks have several owners, the one that allocated
// most.
[[nodiscard]] std::string owner_of_site(const Report& report, const Site& site);

// Returns the owner of a frame's code, or "unknown" for generated code. frame: an index into the
// report's frames.
[[nodiscard]] std::string owner_of_frame(const Report& report, std::uint32_t frame);

// A part of what a site holds.
struct OwnerPart {
  std::string owner;
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;
};
// Divides what a site holds of one kind by the owners of its recorded stacks. Each stack has at
// most what `numbers` returns of its totals: bytes and count; the last one has the rest. May throw
// bad_alloc.
using NumbersOfTotals = std::function<std::pair<std::uint64_t, std::uint64_t>(const SiteTotals&)>;
[[nodiscard]] std::vector<OwnerPart> owner_parts(const Report& report, const Share& share,
                                                 const NumbersOfTotals& numbers);

// Returns what each recorded stack held at a joint peak, as it was before a view joined sites. May
// throw bad_alloc.
[[nodiscard]] std::vector<JointStack> joint_stacks(const Report& report, const JointPeak& joint);

// Returns the bytes that were live at a joint peak of the report by owner, the largest first. It
// uses whole stacks. May throw bad_alloc.
[[nodiscard]] std::vector<std::pair<std::string, std::uint64_t>> owners_of(const Report& report,
                                                                           const JointPeak& joint);

}  // namespace vramscope
