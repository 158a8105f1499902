// peak_text() shows what made the peak of each kind of memory: when, by whom, and what was live
// then.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "reporter/report/report.h"
#include "reporter/view/analysis/peaks/peak_answer.h"
#include "reporter/view/analysis/stacks/frames.h"
#include "reporter/view/listing/columns.h"
#include "reporter/view/listing/document.h"
#include "reporter/view/listing/format.h"

namespace vramscope {

// The rows of what was live in the order that is asked for.
void arrange_live(PeakAnswer& answer, const Report& report, const NameFrame& name,
                  const RowChoice& choice);

// What peak_json() says of one kind, or of all kinds together. The report outlives them.
[[nodiscard]] Columns<PeakOfKind> peak_fields(const Report& report, const NameFrame& name,
                                              std::size_t most);

// Of the JSON: bytes live then by the values of an axis. by: what the values are; when: "at the
// peak". Rows of all kinds together know owners alone.
enum class AllKinds : bool { have_no_rows, may_have_rows };
[[nodiscard]] Column<PeakOfKind> axis_field(Axis axis, const std::string& by,
                                            const std::string& when, AllKinds all);

// What was live then: owners, threads, streams and ranges, and call sites. `choice.live_title`
// stands above the call stacks.
void add_live(Document& text, const Report& report, const PeakOfKind& peak, const NameFrame& name,
              const Page& page, const RowChoice& choice);

// answer: of the report, which outlives the text; arranged. JSON ends with a newline.
[[nodiscard]] Document peak_text(const Report& report, const PeakAnswer& answer,
                                 const NameFrame& name, const Page& page, const RowChoice& choice);
[[nodiscard]] std::string peak_json(const Report& report, const PeakAnswer& answer,
                                    const NameFrame& name, std::size_t most);
// What was live then of each kind.
void add_live_csv(CsvText& csv, const Report& report, const std::vector<PeakOfKind>& kinds,
                  const NameFrame& name, std::size_t most);

}  // namespace vramscope
