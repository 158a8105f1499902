// Says whose memory call stacks allocated.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "reporter/report/report.h"

namespace vramscope {

// The site's stack as it was recorded; the first one where a view made one site of several.
[[nodiscard]] inline const std::vector<std::uint32_t>& first_stack(const Site& site) {
  return site.whole.empty() ? site.frames : site.whole.front().frames;
}

// Whose memory the stack asked for, see StackOwner. `frames`: innermost first, whole. May throw
// bad_alloc.
[[nodiscard]] std::string owner_of_stack(const Report& report,
                                         const std::vector<std::uint32_t>& frames);
// The same of a site; where its stacks have several owners, of the one that allocated most.
[[nodiscard]] std::string owner_of_site(const Report& report, const Site& site);

// Whose code the frame is; "unknown" of generated code. `frame`: an index into the report's.
[[nodiscard]] std::string owner_of_frame(const Report& report, std::uint32_t frame);

// Of what was live at a joint peak of the report: bytes by owner, the largest first. Stacks are
// whole. May throw bad_alloc.
[[nodiscard]] std::vector<std::pair<std::string, std::uint64_t>> owners_of(const Report& report,
                                                                           const JointPeak& joint);

}  // namespace vramscope
