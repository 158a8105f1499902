// runs_text() shows the reports of several processes as one table, the highest peak first, with
// what they held of each device together and how ranks differ; add_runs_json() the same as JSON.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "reporter/view/analysis/jobs.h"
#include "reporter/view/analysis/own_report.h"
#include "reporter/view/analysis/peaks/device_sum.h"
#include "reporter/view/analysis/ranks_answer.h"
#include "reporter/view/listing/columns.h"
#include "reporter/view/listing/format.h"
#include "reporter/view/listing/json_text.h"
#include "reporter/view/text/ranks_text.h"

namespace vramscope {

[[nodiscard]] Columns<ReportOfProcess> process_columns();

// What a text is made of, however much room it has: found once, since traces and reports are read
// for it.
struct Runs {
  std::vector<ReportOfProcess> reports;  // the highest peak first
  LeftAside left_aside;
  std::vector<DeviceSum> sums = {};        // of several; they refer to `reports`
  std::vector<ReportOfProcess> rows = {};  // the same reports in the order that is asked for
  std::vector<ProcessDifference> differences = {};  // of these
  std::vector<Job> jobs = {};
  RanksAnswer answer = {};  // of `rows`; of `reports` as JSON
};
// `sort`: of RowChoice. Reads reports of processes that differ. May throw bad_alloc.
[[nodiscard]] Runs runs_of(std::vector<ReportOfProcess> reports, const LeftAside& left_aside,
                           const RunsNaming& naming = {}, const std::string& sort = "");

// How many rows of processes a room has; 0: all.
using MostProcesses = std::function<std::size_t(const ScreenRoom&)>;
// `runs` outlive it.
[[nodiscard]] Document runs_text(const Runs& runs, const Page& page, const MostProcesses& most,
                                 const HasFigures& has_figures);
// What add_runs_json() writes. The reports outlive it.
[[nodiscard]] Columns<Runs> runs_fields(const std::vector<ReportOfProcess>& reports,
                                        const RunsNaming& naming, std::size_t most);
void add_runs_json(JsonText& json, std::vector<ReportOfProcess> reports,
                   const LeftAside& left_aside, const RunsNaming& naming, const RowChoice& choice);
void add_runs_csv(CsvText& csv, std::vector<ReportOfProcess> reports, const RowChoice& choice);

}  // namespace vramscope
