// try_refusal() says which settings, which limit or how large a GPU would have served the first
// request of a run that was refused.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "reporter/view/trial/trial_rows.h"
#include "reporter/view/trial/trial_runs.h"

namespace vramscope {

// What became of the request under one setting.
enum class Tried : std::uint8_t {
  served,
  refused,
  refused_earlier,  // an earlier request, which the recording served
};

struct TriedRow {
  TrialRow row;
  Tried tried = Tried::refused;
};

struct RefusalTrial {
  std::uint64_t at_ns = 0;  // after time 0
  std::uint64_t bytes = 0;
  Place place;
  std::vector<TriedRow> rows;  // the recording's own settings first
  // More memory of the GPU, or a larger limit, with the recording's settings: the least that serves
  // the request. nullopt: none does, or the recording had no limit.
  std::optional<std::uint64_t> more_bytes = {};
  std::optional<std::uint64_t> least_limit_bytes = {};
};

// Replays what the program did until its first refused request. nullopt: none was refused, or the
// replay of the recording's own settings does not refuse it, so nothing can be said. May throw
// bad_alloc.
[[nodiscard]] std::optional<RefusalTrial> try_refusal(TrialSteps trace, const TellShare& tell);

}  // namespace vramscope
