// Reads the reports of a folder one at a time; a folder in it is one run.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/command/diff_history.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "reporter/report/report.h"
#include "reporter/view/analysis/history.h"
#include "reporter/view/command/inputs.h"
#include "reporter/view/command/repeated_processes.h"
#include "reporter/view/text/history_text.h"

namespace vramscope {
namespace {

namespace fs = std::filesystem;

// Folders in the folder, by name.
std::vector<std::string> folders_in(const std::string& folder) {
  std::vector<std::string> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    std::error_code unknown;
    if (entry.is_directory(unknown)) found.push_back(entry.path().string());
  }
  std::sort(found.begin(), found.end());
  return found;
}

// Returns how many could not be read.
std::size_t add_reports(RunLog& history, const std::string& folder, const std::string& run,
                        const Reading& reading) {
  const auto nothing = [](std::string_view) {};
  std::vector<std::string> paths = report_files({folder}, nothing);
  drop_repeated_processes(paths, nothing);
  std::size_t failed = 0;
  for (std::string path : paths) {
    const std::optional<Report> report = open_report(path, reading);
    if (!report) ++failed;
    if (report) history.add(*report, path, run);
  }
  return failed;
}

}  // namespace

int show_history(const std::string& folder, const Listing& listing, const Reading& reading) {
  if (!is_folder(folder)) {
    return refuse("diff --history: '" + folder +
                  "' is no folder; expected one with reports, or "
                  "with a folder for each run");
  }
  RunLog history(names_from_symbols());
  std::size_t failed = add_reports(history, folder, "", reading);
  for (const std::string& run : folders_in(folder))
    failed += add_reports(history, run, run, reading);
  PastRuns all{.runs = history.runs(), .trends = {}};
  if (all.runs.empty()) {
    return failed != 0
               ? kBadInput
               : refuse("diff --history: no report is in '" + folder + "', nor in a folder in it");
  }
  all.trends = RunLog::trends(all.runs);
  listing.rows().refuse_unless({names_of(past_run_columns())});
  arrange(all.runs, past_run_columns(), listing.rows());
  const int status = failed == 0 ? kFine : kBadInput;
  if (listing.csv) {
    return std::max(status, publish_csv(listing, [&](CsvText& csv) {
                      add_rows(csv, all.runs, past_run_columns(), listing.most);
                    }));
  }
  const Page page = page_of(listing);
  return std::max(
      status, publish(listing, listing.json ? json_of(all, history_fields(listing.most))
                                            : render(history_text(all, page, listing.most), page)));
}

}  // namespace vramscope
