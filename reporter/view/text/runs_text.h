// runs_text() shows the reports of several processes as one table, the highest peak first, with
// what they held of each device together and how ranks differ; runs_json() the same as JSON.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "reporter/view/text/columns.h"
#include "reporter/view/text/format.h"
#include "reporter/view/text/ranks_text.h"

namespace vramscope {

// Of several reports of one process the last one, by sequence; gives how many were left aside.
[[nodiscard]] std::size_t keep_last_of_each(std::vector<ReportOfProcess>& reports);

[[nodiscard]] Columns<ReportOfProcess> process_columns();

// Each text and JSON ends with a newline.
[[nodiscard]] std::string runs_text(std::vector<ReportOfProcess> reports, std::size_t left_aside,
                                    const RunsNaming& naming, const Page& page,
                                    const RowChoice& choice);
[[nodiscard]] std::string runs_json(std::vector<ReportOfProcess> reports, std::size_t left_aside,
                                    const RunsNaming& naming, const RowChoice& choice);
void add_runs_csv(CsvText& csv, std::vector<ReportOfProcess> reports, const RowChoice& choice);

}  // namespace vramscope
