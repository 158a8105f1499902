// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/command/fit_ways.h"
#include "reporter/view/command/progress.h"
#include "reporter/view/text/phase_text.h"
#include "reporter/view/trial/fit_answer.h"

namespace vramscope {
namespace {

// Why the phase has no course, or "".
std::string no_course(const std::string& file, const TrialPhase& phase) {
  if (phase.begins.size() > 1) return "";
  if (phase.begins.empty()) {
    const std::string known =
        phase.known.empty() ? "; it has none that repeats" : nearest(phase.name, phase.known);
    return "'" + file + "' has no mark '" + phase.name + "', and no allocation in a range '" +
           phase.name + "'" + known;
  }
  const std::string why =
      phase.is_mark ? " is set once" : " is seen to begin once: no allocation lies between two";
  return "'" + phase.name + "' in '" + file + "'" + why +
         "; expected a mark or a range that repeats (vramscope.mark())";
}

int show_phase(TrialArguments& given, const std::string& file, TrialPhase& phase,
               ShownTrials& shown) {
  std::optional<TrialSteps> trace = open_trial(file, given.incomplete(), &phase);
  if (!trace) return kBadInput;
  const std::string problem = no_course(file, phase);
  if (!problem.empty()) return refuse(problem);
  const std::size_t before = trace->steps.size();
  const bool is_assumed = assume_contexts(*trace);
  for (std::size_t& begin : phase.begins) begin += trace->steps.size() - before;
  MadeRows made = make_rows(*trace, given.trial);
  if (!made.problem.empty()) return refuse(made.problem);
  ProgressLine progress("fit", "events");
  const PhaseAnswer answer = follow_phase(*trace, made.rows.front(), phase, progress.teller());
  shown.add(FollowedPhase{file, phase, made.rows.front(), *trace, answer, is_assumed},
            phase_fields(shown.choice()), answer.rows, phase_columns(), phase_text);
  return kFine;
}

}  // namespace

int show_phases(TrialArguments& given, const std::string& name) {
  settle_rows(given.listing);
  given.listing.rows().refuse_unless({names_of(phase_columns())});
  ShownTrials shown(given.listing);
  for (const std::string& file : given.files) {
    TrialPhase phase{.name = name, .begins = {}, .numbers = {}, .known = {}};
    const int code = show_phase(given, file, phase, shown);
    if (code != kFine) return code;
  }
  return shown.publish();
}

}  // namespace vramscope
