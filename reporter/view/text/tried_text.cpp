// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/tried_text.h"

#include <vector>

#include "reporter/report/memory_name.h"
#include "reporter/view/text/replay_text.h"

namespace vramscope {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::string_view kTried[] = {"served", "refused", "refused_earlier"};
constexpr std::string_view kTriedTexts[] = {"served", "refused",
                                            "refused, and an earlier request as well"};

// Rounded up, as it can be typed.
std::string mebibytes(std::uint64_t bytes) {
  return count_text(static_cast<std::int64_t>((bytes + kMiB - 1) / kMiB)) + " MiB";
}

}  // namespace

Document tried_text(const RefusalTrial& trial, const std::string& trace) {
  Document text;
  text.gap();
  text.sentence("What would have served the first refused request, " + amount_text(trial.bytes) +
                " of " + memory_name(trial.place.kind, trial.place.device) + ", by replays of " +
                trace + ":");
  for (const TriedRow& row : trial.rows) {
    if (row.row.is_recorded) continue;
    text.paragraph(typed_settings(row.row) + ": " +
                   std::string(kTriedTexts[static_cast<std::size_t>(row.tried)]));
  }
  if (trial.more_bytes) {
    text.paragraph(mebibytes(*trial.more_bytes) + " more of the GPU: served");
  }
  if (trial.least_limit_bytes) {
    text.paragraph("--device-memory-limit " + std::to_string(*trial.least_limit_bytes / kMiB) +
                   "MiB: served");
  }
  return text;
}

Columns<RefusalTrial> tried_fields() {
  using Row = TriedRow;
  Columns<Row> rows =
      settings_columns<Row>([](const Row& row) -> const TrialRow& { return row.row; });
  rows.push_back(
      {"tried",
       "what became of the request; `refused_earlier`: one was refused that the recording served",
       &Row::tried, OneOf(kTried)});
  return {{"time_ns", "of the request, after time 0", &RefusalTrial::at_ns},
          {"bytes", "requested", &RefusalTrial::bytes},
          {"more_bytes", "of the GPU would have served it; `null`: none, or a limit refused it",
           &RefusalTrial::more_bytes},
          {"least_limit_bytes",
           "the least `--device-memory-limit` that serves it; `null`: there was none, or none does",
           &RefusalTrial::least_limit_bytes},
          {"rows", "settings, each with what became of the request", rows, &RefusalTrial::rows}};
}

}  // namespace vramscope
