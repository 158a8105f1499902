// make_peaks_exact() and make_steps_exact() take from the traces of processes what their reports
// tell only within bounds.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "reporter/view/analysis/process_figures.h"
#include "reporter/view/trial/trial_runs.h"

namespace vramscope {

// Both set ReportOfProcess::peak of each process, and follow traces on all cores, one on each, in
// memory for what lives at a time. A trace is looked for, and counts, as in traced_peaks.h; of one
// that began amid the run only steps after its beginning count. Both may throw bad_alloc and
// system_error, after all threads have ended.

// Follows the trace of each process whose peak is known only within bounds.
void make_peaks_exact(std::vector<ReportOfProcess>& reports, const TellShare& tell = {});
// Of processes of one program, follows also those whose peak has no known time, and if they have
// marks in common, or a range whose peak is only known within bounds, all of them. Sets the facts.
void make_steps_exact(std::vector<ReportOfProcess>& reports, const TellShare& tell = {});

}  // namespace vramscope
