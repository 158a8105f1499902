// peak_text() shows what made the peak of each kind of memory: when, by whom, and what was live
// then.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "reporter/ground/axes.h"
#include "reporter/report/report.h"
#include "reporter/view/analysis/digest.h"
#include "reporter/view/analysis/peaks/exact_sum.h"
#include "reporter/view/analysis/peaks/peak_use.h"
#include "reporter/view/analysis/stacks/frames.h"
#include "reporter/view/listing/columns.h"
#include "reporter/view/listing/format.h"

namespace vramscope {

// What was live at the peak of a kind, or of all kinds together, in the order that is asked for.
[[nodiscard]] std::vector<Share> shares_of(const Report& report, const KindFacts& kind,
                                           const NameFrame& name, const RowChoice& choice);
[[nodiscard]] std::vector<Share> shares_of(const Report& report, const JointPeak& joint,
                                           const NameFrame& name, const RowChoice& choice);
// Its owners.
[[nodiscard]] std::vector<AxisEntry> values_of(const Report& report, const JointPeak& joint);
// Those that held something at the peak, the largest first.
[[nodiscard]] std::vector<AxisEntry> values_of(const Report& report, const KindFacts& kind,
                                               Axis axis);
// Whose peaks are added, and on how many devices.
struct AddedPeaks {
  std::size_t processes = 0;
  std::size_t devices = 0;
  SumOfKind together;  // at one time
};

[[nodiscard]] AddedPeaks added_peaks(const Report& report, const KindFacts& kind);

// What peak_json() says of one kind, or of all kinds together, of which `joint` tells.
struct PeakRow {
  KindFacts kind;
  const JointPeak* joint = nullptr;
  std::vector<Share> live;
  AddedPeaks added;
  std::vector<PeakUseRow> use = {};
};
// The report outlives them.
[[nodiscard]] Columns<PeakRow> peak_fields(const Report& report, const NameFrame& name,
                                           std::size_t most);

// Each text and JSON ends with a newline. What is chosen are rows of each kind.
[[nodiscard]] std::string peak_text(const Report& report, const NameFrame& name, const Page& page,
                                    const RowChoice& choice);
[[nodiscard]] std::string peak_json(const Report& report, const NameFrame& name,
                                    const RowChoice& choice);
// What was live at the peak of each kind.
void add_peak_csv(CsvText& csv, const Report& report, const NameFrame& name,
                  const RowChoice& choice);

}  // namespace vramscope
