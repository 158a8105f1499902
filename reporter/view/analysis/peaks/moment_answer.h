// moment_answer() says what was live at one instant: by kind of memory, call site and owner.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "reporter/view/analysis/peaks/peak_answer.h"
#include "reporter/view/analysis/replay/asked_instant.h"

namespace vramscope {

struct MomentAnswer {
  AskedInstant instant;
  // Rows as of a peak: `peak_bytes` and the shares are what was live at the instant.
  std::vector<PeakOfKind> kinds = {};  // the largest first

  [[nodiscard]] std::uint64_t bytes() const;
};

// The number of allocations that are live in a row.
[[nodiscard]] std::uint64_t live_count(const PeakOfKind& row);

// The report ends at the instant. May throw bad_alloc.
[[nodiscard]] MomentAnswer moment_answer(const Report& report, AskedInstant instant);

}  // namespace vramscope
