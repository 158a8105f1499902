// oom_text() tells of allocations that failed because memory ran out: what was asked for, who held
// the memory, what stood in the way, and what would help.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "reporter/report/oom_events.h"
#include "reporter/view/analysis/leaks/leaks.h"
#include "reporter/view/analysis/refusals/refusal_causes.h"
#include "reporter/view/analysis/stacks/frames.h"
#include "reporter/view/listing/columns.h"
#include "reporter/view/listing/document.h"

namespace vramscope {

struct Report;
struct RefusalTrial;

// "900 MiB of 1 call site that freed nothing, ..."; "": nothing tells.
[[nodiscard]] std::string held_text(const HeldThen& held);
// What would help, most likely; "": nobody knows.
[[nodiscard]] std::string hint_for(const Report& report, const OomEvent& event, const Leaks& leaks);

// "as much was served 12.3 ms later"; "" where it was not, or nobody knows.
[[nodiscard]] std::string served_later(const OomEvent& event);

// Of what was live, and of what pinned segments. The report outlives them.
[[nodiscard]] Columns<OomShare> oom_share_columns(const Report& report, const NameFrame& name);
[[nodiscard]] Columns<OomPin> oom_pin_columns(const Report& report, const NameFrame& name);
// What oom_json() writes.
// tried: what would have served the first refused request; null: nobody tried.
[[nodiscard]] Columns<OomReport> oom_fields(const Report& report, const NameFrame& name,
                                            const RowChoice& choice,
                                            const RefusalTrial* tried = nullptr);

// The report outlives the text. What is chosen are rows of each table. leaks: those of
// leaks_for_oom().
[[nodiscard]] Document oom_text(const Report& report, const Leaks& leaks, const NameFrame& name,
                                const Page& page, const RowChoice& choice);
[[nodiscard]] std::string oom_json(const Report& report, const NameFrame& name,
                                   const RowChoice& choice, const RefusalTrial* tried = nullptr);
// Both tables of every event.
void add_oom_csv(CsvText& csv, const Report& report, const NameFrame& name,
                 const RowChoice& choice);

// "300 MiB of GPU 0 refused to main (a.cpp:12), 124 MiB free": the last one; "" when memory never
// ran out.
[[nodiscard]] std::string oom_line(const Report& report, const NameFrame& name);

}  // namespace vramscope
