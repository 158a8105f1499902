// ranks_timeline_text() draws the memory of many processes over each other: median, band, and those
// that are far from the median by name.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "reporter/view/analysis/ranks_over_time.h"
#include "reporter/view/listing/columns.h"
#include "reporter/view/listing/document.h"
#include "reporter/view/text/timeline_text.h"

namespace vramscope {

// What is drawn or listed; `reports` outlive it.
struct RanksTimeline {
  const std::vector<ReportOfProcess>* reports = nullptr;
  RanksOverTime over;
};

// How many steps a page has room for.
[[nodiscard]] std::size_t steps_on(const Page& page);

// look.most: processes by name. Of the reports of jobs it says first who is missing. May throw
// bad_alloc.
[[nodiscard]] Document ranks_timeline_text(const RanksTimeline& ranks, const TimelineLook& look,
                                           const Page& page);
[[nodiscard]] Columns<RanksTimeline> ranks_timeline_fields(
    const std::vector<ReportOfProcess>& reports, const RowChoice& rows);
// By which its rows can be sorted; the same for those that the text names.
[[nodiscard]] std::vector<std::string> rank_column_names();
void arrange_far(RanksTimeline& ranks, const RowChoice& choice);

// A process in a step.
struct RankInStep {
  const ReportOfProcess* report = nullptr;
  const RankStep* step = nullptr;
  std::uint64_t bytes = 0;
};
[[nodiscard]] Columns<RankInStep> rank_step_columns();
void add_ranks_timeline_csv(CsvText& csv, const RanksTimeline& ranks, const RowChoice& choice);

}  // namespace vramscope
