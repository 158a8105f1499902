// What CUPTI saw of the memory that was recorded.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/cupti_text.h"

#include <algorithm>

#include "reporter/report/memory_name.h"

namespace vramscope {
namespace {

std::string difference_text(const CuptiDifference& row) {
  std::string result = memory_name(row.kind, row.device) + ": ";
  switch (row.what) {
    case Disagreement::not_recorded:
      result += bytes_text(row.cupti_bytes) + " not recorded";
      break;
    case Disagreement::not_seen:
      result += bytes_text(row.recorded_bytes) + " recorded, not seen by CUPTI";
      break;
    case Disagreement::other_size:
      result += count_text(row.recorded_bytes) + " bytes recorded, " + count_text(row.cupti_bytes) +
                " seen by CUPTI";
      break;
  }
  return row.source.empty() ? result : result + ", asked for by " + row.source;
}

}  // namespace

Document cupti_text(const Report& report) {
  constexpr std::size_t kDifferencesShown = 3;
  Document text;
  if (!report.cupti || report.chosen) return text;  // it is of all
  const CuptiFacts& cupti = *report.cupti;
  text.gap();
  text.heading("CUPTI");
  text.paragraph("confirms " + counted(cupti.confirmed_segments, "segment") + " of " +
                 bytes_text(cupti.confirmed_bytes) + " by " + counted(cupti.records, "record") +
                 "; " + counted(cupti.difference_count, "difference"));
  const std::size_t shown = std::min(kDifferencesShown, cupti.differences.size());
  for (std::size_t i = 0; i < shown; ++i) {
    text.paragraph(difference_text(cupti.differences[i]));
  }
  if (cupti.difference_count > shown) {
    text.paragraph("and " + count_text(cupti.difference_count - shown) + " more");
  }
  return text;
}

}  // namespace vramscope
