// runs_text() shows the reports of several processes as one table, the highest peak first, with
// what they held of each device together and how ranks differ; add_runs_json() the same as JSON.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "reporter/view/analysis/peaks/device_sum.h"
#include "reporter/view/listing/columns.h"
#include "reporter/view/listing/format.h"
#include "reporter/view/listing/json_text.h"
#include "reporter/view/text/ranks_text.h"

namespace vramscope {

// Reports that were not taken because others tell of their processes.
struct LeftAside {
  std::size_t earlier = 0;   // by sequence
  std::size_t repeated = 0;  // the same once more, as a part of a merged report
};
// Of several reports of one process the last one, by sequence; of equal ones that which was not
// merged. Of whose process nobody knows all stay.
[[nodiscard]] LeftAside keep_each_once(std::vector<ReportOfProcess>& reports);

[[nodiscard]] Columns<ReportOfProcess> process_columns();

// What a text is made of, however much room it has: found once, since traces and reports are read
// for it.
struct Runs {
  std::vector<ReportOfProcess> reports;  // the highest peak first
  LeftAside left_aside;
  std::vector<DeviceSum> sums = {};        // of several; they refer to `reports`
  std::vector<ReportOfProcess> rows = {};  // the same reports in the order that is asked for
  std::vector<ProcessDifference> differences = {};  // of these
};
// `sort`: of RowChoice. Reads reports of processes that differ. May throw bad_alloc.
[[nodiscard]] Runs runs_of(std::vector<ReportOfProcess> reports, const LeftAside& left_aside,
                           const RunsNaming& naming = {}, const std::string& sort = "");

// Each text and JSON ends with a newline. most: rows of processes; 0: all.
[[nodiscard]] std::string runs_text(const Runs& runs, const Page& page, std::size_t most,
                                    Figures figures = Figures::shown);
// What add_runs_json() writes. The reports outlive it.
[[nodiscard]] Columns<Runs> runs_fields(const std::vector<ReportOfProcess>& reports,
                                        const RunsNaming& naming, std::size_t most);
void add_runs_json(JsonText& json, std::vector<ReportOfProcess> reports,
                   const LeftAside& left_aside, const RunsNaming& naming, const RowChoice& choice);
void add_runs_csv(CsvText& csv, std::vector<ReportOfProcess> reports, const RowChoice& choice);

}  // namespace vramscope
