// vramscope fit: how small a GPU may be on which a run completes.
// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <utility>

#include "reporter/view/command/fit_ways.h"
#include "reporter/view/text/fit_text.h"

namespace vramscope {
namespace {

int show_fits(TrialArguments& given) {
  const auto since = ProgressLine::Clock::now();
  const auto show = [&](const std::string& file, TrialSteps& trace, ShownTrials& shown) {
    const FoundFit found = fit_of(trace, given.trial, since);
    if (!found.problem.empty()) return found.problem;
    shown.add(Fitted{file, trace, found.answer}, fit_fields(shown.choice()), found.answer.rows,
              fit_columns(), fit_text);
    return std::string();
  };
  return show_trials(given, names_of(fit_columns()), show);
}

}  // namespace

FoundFit fit_of(TrialSteps& trace, const TrialOptions& options,
                ProgressLine::Clock::time_point since) {
  const bool is_assumed = assume_contexts(trace);
  MadeRows made = make_rows(trace, options);
  if (!made.problem.empty()) return {.problem = std::move(made.problem)};
  ProgressLine progress("fit", "events", since);
  FoundFit found{.answer = fit_trace(trace, std::move(made.rows), progress.teller())};
  found.answer.is_context_assumed = is_assumed;
  return found;
}

Verb add_fit(CommandLine& line) {
  auto arguments = std::make_shared<TrialArguments>();
  auto phase = std::make_shared<std::string>();
  auto scale = std::make_shared<ScaleWish>();
  Command& command = line.add_verb("fit", "Find the smallest GPU on which a run completes");
  add_trial_files(command, *arguments);
  add_trial_options(command, arguments->trial);
  command.option("--phase", phase.get(), "Show memory by repetition of this range or mark",
                 {.value_name = "NAME", .why_not = [](const std::string& given) {
                    return given.empty() ? "expected the name of a range or a mark" : "";
                  }});
  command.option("--scale", &scale->scale, "Show how memory depends on NAME; one value per FILE",
                 {.value_name = "NAME=N,N,...", .why_not = no_scale});
  command.option("--at", &scale->at, "Predict runs with these numbers",
                 {.value_name = "N,...", .why_not = no_numbers, .needs = "--scale"});
  command.exclude("--scale", "--phase");
  add_listing_options(command, arguments->listing);
  command.footer(
      "Without --policy, --alloc-conf and --mode, fit uses the recording's settings and the usual "
      "ones.\n"
      "Examples:\n"
      "  vramscope run --trace train.%p.trace ./train\n"
      "  vramscope fit train.4711.trace\n"
      "  vramscope fit --policy pytorch --alloc-conf expandable_segments:True train.4711.trace\n"
      "  vramscope fit --phase step train.4711.trace\n"
      "  vramscope fit --scale batch=2,4,8 --at 16,32 b2.trace b4.trace b8.trace");
  return {.command = &command, .act = [arguments, phase, scale] {
            if (!scale->scale.empty()) return show_scale(*arguments, *scale);
            if (!phase->empty()) return show_phases(*arguments, *phase);
            return show_fits(*arguments);
          }};
}

}  // namespace vramscope
