// PeakAnswer is what is known of the peaks of a report: what was live at each of them, whose it
// was, and what made the GPUs as full as they were.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "reporter/base/axes.h"
#include "reporter/report/report.h"
#include "reporter/view/analysis/leaks/leaked_shares.h"
#include "reporter/view/analysis/peaks/peak_use.h"
#include "reporter/view/analysis/peaks/traced_peaks.h"
#include "reporter/view/analysis/report_figures.h"
#include "reporter/view/analysis/stacks/frames.h"

namespace vramscope {

// Whose peaks are added, and on how many devices.
struct AddedPeaks {
  std::size_t processes = 0;
  std::size_t devices = 0;
  SumOfKind together;  // at one time; of several processes none where rows were chosen
};

// Of one kind of memory, or of all kinds of a GPU together.
struct PeakOfKind {
  KindFacts kind;                    // of all kinds together: JointPeak::facts
  const JointPeak* joint = nullptr;  // of all kinds together; else null
  std::vector<Share> live = {};      // then, the largest first
  // What the values of each axis held then, the largest first; of all kinds together owners alone.
  std::array<std::vector<AxisEntry>, kAxes> values = {};
  AddedPeaks added = {};
  std::vector<PeakUseRow> use = {};  // of its GPU, in the last row of that GPU; else empty

  [[nodiscard]] const std::vector<AxisEntry>& values_of(Axis axis) const {
    return values[static_cast<std::size_t>(axis)];
  }
};

// It refers to the report, which outlives it.
struct PeakAnswer {
  std::vector<PeakOfKind> kinds = {};  // the highest peak first
  std::vector<PeakOfKind> joint = {};  // in the report's order
  std::vector<PeakUse> uses = {};      // by GPU
  Leaked leaked = {};                  // what was never freed
};

// Reads traces where several processes have them. May throw bad_alloc.
[[nodiscard]] PeakAnswer peak_answer(const Report& report, const NameFrame& name);

}  // namespace vramscope
