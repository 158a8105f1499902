// How processes ended, of those that are checked.
// SPDX-License-Identifier: Apache-2.0
#include <string_view>

#include "reporter/report/facts.h"
#include "reporter/report/merged_process.h"
#include "reporter/report/report.h"
#include "reporter/view/analysis/report_figures.h"
#include "reporter/view/analysis/subject.h"
#include "reporter/view/text/checks.h"
#include "reporter/view/text/process_text.h"
#include "reporter/view/text/report_text.h"

namespace vramscope {

void add_ends(Checked& checked, const Report& report, const std::string& file) {
  for (const MergedProcess& process : merged_processes(report)) {
    if (const std::string death = death_text(process); !death.empty()) {
      checked.deaths.push_back({.process = checked_process(process.process),
                                .file = file,
                                .ended_by = process.process.ended_by,
                                .words = named_process(process.process) + " " + death});
    }
    if (process.oom.count == 0) continue;
    checked.out_of_memory.push_back(
        {.process = checked_process(process.process), .file = file, .calls = process.oom.count});
  }
}

std::string early_verdict(std::size_t reports, bool passed) {
  return "failed: " + counted(reports, "report") +
         (reports == 1 ? " was written before its run ended"
                       : " were written before their runs ended") +
         "; checks " + (passed ? "passed" : "failed") + " up to then";
}

void add_unfinished(Checked& checked, const Report& report, const std::string& file) {
  for (const MergedProcess& process : merged_processes(report)) {
    if (end_of(process) != End::went_on) continue;
    checked.unfinished.push_back({file, named_process(process.process) +
                                            " had not ended: the report was " +
                                            trigger_text(process.trigger)});
  }
}

}  // namespace vramscope
