// replay_text() shows what a trace's program would have taken under other settings.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "reporter/view/listing/columns.h"
#include "reporter/view/listing/document.h"
#include "reporter/view/trial/replay_answer.h"

namespace vramscope {

// A replayed trace with what is said of it.
struct Replayed {
  std::string file;
  const TrialSteps& trace;
  const ReplayAnswer& answer;
  CallCosts costs;
};

// One setting on one device.
struct ReplayLine {
  const ReplayRow* row = nullptr;
  const TrialDevice* device = nullptr;  // null: the trace has no device memory
};
[[nodiscard]] std::vector<ReplayLine> replay_lines(const Replayed& replayed);

// The words for Mode and Policy.
inline constexpr std::string_view kTrialModes[] = {"cache", "dedicated", "observe", "off"};
inline constexpr std::string_view kTrialPolicies[] = {"native-safe", "pytorch"};

// A setting as people write it: "pytorch, expandable_segments:True".
[[nodiscard]] std::string settings_text(const TrialRow& row);
// The same for a table, whose lines may break behind each option, with ", as recorded" behind the
// recording's own.
[[nodiscard]] std::string marked_settings_text(const TrialRow& row);

// The options of ours that set it: "--policy pytorch --alloc-conf expandable_segments:True".
[[nodiscard]] std::string typed_settings(const TrialRow& row);

// Why a replay of the trace cannot be exact, behind the words that begin the sentence; "": it can.
[[nodiscard]] std::string gaps_text(const std::string& begin, const TrialGaps& gaps);

// of: gives the TrialRow of a row.
template <class Row, class Of>
[[nodiscard]] Columns<Row> settings_columns(Of of) {
  return {{"mode", "mode of the library", [of](const Row& row) { return of(row).mode; },
           OneOf(kTrialModes)},
          {"policy", "of the cache", [of](const Row& row) { return of(row).policy; },
           OneOf(kTrialPolicies)},
          {"alloc_conf", "options of the allocator",
           [of](const Row& row) { return of(row).alloc_conf; }},
          {"recorded", "the recording's own settings",
           [of](const Row& row) { return of(row).is_recorded; }}};
}

[[nodiscard]] Columns<ReplayLine> replay_columns(const CallCosts& costs = {});
// Of the JSON: an object for each trace.
[[nodiscard]] Columns<Replayed> replay_fields(const RowChoice& choice);
[[nodiscard]] Document replay_text(const Replayed& replayed, const Page& page,
                                   const RowChoice& choice);

}  // namespace vramscope
