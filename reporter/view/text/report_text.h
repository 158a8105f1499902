// report_text() shows one report on one screen, report_json() the same as JSON.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "reporter/view/analysis/leaks/leaked_shares.h"
#include "reporter/view/analysis/stacks/frames.h"
#include "reporter/view/listing/columns.h"
#include "reporter/view/listing/document.h"
#include "reporter/view/listing/format.h"

namespace vramscope {

struct Report;

// What made the peak is shown for this many sites unless told otherwise; for what is still
// allocated it is half as many.
inline constexpr std::size_t kReportSites = 10;

// A report with what its text asks of it.
struct ShownReport {
  const Report& report;
  std::string path;  // its file, for the next command
  Leaked leaked;     // leaked_of()
};

// The report outlives it.
[[nodiscard]] Document report_text(const ShownReport& shown, const NameFrame& name,
                                   const Page& page, const RowChoice& choice);

// Of a merged report what a screen has room for below its processes: what made the peaks, in as
// many rows as `most` gives.
[[nodiscard]] Document report_in_brief(const ShownReport& shown, const NameFrame& name,
                                       const Page& page,
                                       const std::function<std::size_t(const ScreenRoom&)>& most);

// What it begins with, a block each: the command, then the process, then when it was written.
[[nodiscard]] Document report_head(const Report& report);

// What report_json() writes. The report outlives it.
[[nodiscard]] Columns<Report> report_fields(const Report& report, const std::string& path,
                                            const NameFrame& name, const RowChoice& choice,
                                            const std::function<void(JsonText&)>& add_processes);
// Appends one object.
// add_processes: writes an object of the processes of a merged report; empty: it is of one.
void report_json(JsonText& json, const Report& report, const std::string& path,
                 const NameFrame& name, const RowChoice& choice,
                 const std::function<void(JsonText&)>& add_processes = {});
// The sites that made the peak, and those of what is still allocated.
void add_report_csv(CsvText& csv, const Report& report, const NameFrame& name,
                    const RowChoice& choice);

}  // namespace vramscope
