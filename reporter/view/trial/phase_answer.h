// follow_phase() says how the memory of a run depends on the repetition of one of its parts.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "reporter/view/trial/phase_finder.h"
#include "reporter/view/trial/trial_rows.h"
#include "reporter/view/trial/trial_runs.h"

namespace vramscope {

// Of the peaks of repetitions, within kSamePeak of each other: `constant` from some repetition on,
// which has at least half of them behind it; `grows`: the second half, too, on average with each.
enum class PhaseTrend : std::uint8_t { constant, grows, varies };
inline constexpr double kSamePeak = 0.01;

struct PhaseCourse {
  PhaseTrend trend = PhaseTrend::constant;
  std::uint64_t warm_up = 0;       // repetitions before it is constant
  std::uint64_t growth_bytes = 0;  // with each repetition of the second half
};
// lasts: numbers of the repetitions, in order. A peak may be that of several, up to this one.
[[nodiscard]] PhaseCourse course_of(const std::vector<std::uint64_t>& peaks,
                                    const std::vector<std::uint64_t>& lasts);

struct PhaseRow {
  std::uint64_t number = 0;  // of the repetition, from 1; the row ends with the next known one
  std::uint64_t begin_ns = 0;
  TrialPeaks peaks = {};
  // The least capacity with which all until its end completes; nullopt: none, or not asked.
  std::optional<std::uint64_t> least_bytes = {};
};

struct PhaseAnswer {
  std::vector<PhaseRow>
      rows;  // kMostPhaseRows at most, evenly spread, the first and the last one too
  std::uint64_t repetitions = 0;
  bool fits = true;  // on the devices of the row; else the peaks are of devices without end
  PhaseCourse requested;
  PhaseCourse reserved;
};
inline constexpr std::size_t kMostPhaseRows = 24;

// phase.begins: at least two. May throw bad_alloc.
[[nodiscard]] PhaseAnswer follow_phase(const TrialSteps& trace, const TrialRow& row,
                                       const TrialPhase& phase, const TellShare& tell);

}  // namespace vramscope
