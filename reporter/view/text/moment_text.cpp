// Shows what was live then.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/moment_text.h"

#include "reporter/report/memory_name.h"
#include "reporter/view/analysis/subject.h"
#include "reporter/view/listing/json_text.h"
#include "reporter/view/listing/site_columns.h"
#include "reporter/view/text/instant_text.h"
#include "reporter/view/text/peak_text.h"
#include "reporter/view/text/words.h"

namespace vramscope {
namespace {

Columns<PeakOfKind> kind_fields(const Report& report, const NameFrame& name, std::size_t most) {
  using Row = PeakOfKind;
  const auto of = within(&Row::kind);
  const auto axis = [](Axis which, const char* by) {
    return axis_field(which, by, "then", AllKinds::have_no_rows);
  };
  return {kind_column<Row>(of(&KindFacts::kind)),
          device_column<Row>(of(&KindFacts::device)),
          {"live_bytes", "requested bytes live then", of(&KindFacts::peak_bytes)},
          {"live_count", "number of allocations that make up these bytes",
           [](const Row& row) { return live_count(row); }},
          {"live", "sites live then, the largest first", share_columns(report, name),
           [most](const Row& row) { return first_rows(row.live, most); }},
          axis(Axis::owner, "owner"),
          axis(Axis::thread, "thread"),
          axis(Axis::stream, "stream"),
          axis(Axis::range, "range")};
}

std::string when_text(const Report& report, const AskedInstant& instant, const Page& page) {
  if (!instant.is_end) return instant_text(instant, page);
  if (trigger_of(report) == Trigger::trace) return "at the end of the trace";
  if (is_of_several(report)) return "when each report was written";
  return is_final(report) ? "at the end" : "when the report was written";
}

}  // namespace

void arrange_live(MomentAnswer& answer, const Report& report, const NameFrame& name,
                  const RowChoice& choice) {
  for (PeakOfKind& row : answer.kinds) arrange(row.live, share_columns(report, name), choice);
}

Columns<MomentAnswer> moment_fields(const Report& report, const NameFrame& name, std::size_t most) {
  using Row = MomentAnswer;
  const auto number = [](std::uint64_t AskedInstant::*member) {
    return [member](const Row& row) {
      return row.instant.mark.empty() ? std::nullopt : std::optional(row.instant.*member);
    };
  };
  return {{"at_ns", "time of the instant, after time 0 (the start of recording)",
           within(&Row::instant)(&AskedInstant::at_ns)},
          {"mark", "name of the mark or range that was asked for; `null`: a time or the end was",
           [](const Row& row) {
             return row.instant.mark.empty() ? std::nullopt : std::optional(row.instant.mark);
           }},
          {"is_range", "it is an NVTX range, and the instant is before its first allocation",
           within(&Row::instant)(&AskedInstant::is_range)},
          {"repetition", "its number among the marks or ranges of that name, from 1",
           number(&AskedInstant::repetition)},
          {"repetitions",
           "number of marks of that name, or of entries in the range that allocated memory",
           number(&AskedInstant::repetitions)},
          {"memory", "kinds of memory of which something was live, the largest first",
           kind_fields(report, name, most), &Row::kinds}};
}

Document moment_text(const Report& report, const MomentAnswer& answer, const NameFrame& name,
                     const Page& page, const RowChoice& choice) {
  Document text;
  const std::string when = capitalised(when_text(report, answer.instant, page));
  text.sentence(when + ": " + amount_text(answer.bytes()) + " requested bytes live" +
                (answer.kinds.empty() ? "" : ", by kind of memory and call site"));
  for (const PeakOfKind& row : answer.kinds) {
    text.gap();
    text.title(memory_name(report, row.kind.kind, row.kind.device) + ": " +
               amount_text(row.kind.peak_bytes) + " requested in " +
               counted(live_count(row), "allocation"));
    add_live(text, report, row, name, page, choice);
  }
  if (const std::string note = sampling_text(report); !note.empty())
    text.line("  " + note + "; the rest is exact");
  return text;
}

std::string moment_json(const Report& report, const MomentAnswer& answer, const NameFrame& name,
                        std::size_t most) {
  return json_of(answer, moment_fields(report, name, most));
}

}  // namespace vramscope
