// What made a GPU as full as it was, as a table that adds up; of two runs side by side.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "reporter/view/analysis/peaks/peak_use.h"
#include "reporter/view/listing/columns.h"
#include "reporter/view/listing/document.h"
#include "reporter/view/listing/format.h"

namespace vramscope {

struct PeakUsePair {  // one row of two runs; nothing: that run has no such row
  PeakUseRow row;
  std::optional<PeakUseRow> before, after;
  bool is_of_one_report = false;  // both are the same report
};

[[nodiscard]] Columns<PeakUseRow> peak_use_columns();
[[nodiscard]] Columns<PeakUsePair> peak_use_pair_columns();

// A table for each GPU, with what the process would need without the caches; where there is no room
// the last line alone.
[[nodiscard]] Document peak_uses_text(const std::vector<PeakUse>& uses, const Page& page);

// The same in sentences, without hostile characters.
[[nodiscard]] std::vector<std::string> peak_use_sentences(const std::vector<PeakUse>& uses);

// The rows of a GPU in both runs; none where neither tells them.
[[nodiscard]] std::vector<PeakUsePair> pairs_of(const PeakUse& before, const PeakUse& after);
// one_report: what is not known of it has not changed either.
enum class Sides : std::uint8_t { two_reports, one_report };
[[nodiscard]] Document peak_uses_text(const std::vector<PeakUse>& before,
                                      const std::vector<PeakUse>& after, Sides sides,
                                      const Page& page);

}  // namespace vramscope
