// vramscope tune: which settings of the allocator a run should have.
// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "reporter/view/command/progress.h"
#include "reporter/view/command/trial_input.h"
#include "reporter/view/text/tune_text.h"

namespace vramscope {
namespace {

// Reads a trace for tuning. Says in one line why there is none.
std::optional<TrialSteps> open_tuned(const std::string& file, Incomplete incomplete) {
  std::optional<TrialSteps> trace = open_trial(file, incomplete);
  if (!trace) return trace;
  if (trace->devices.empty()) {
    say("'" + file + "' has no allocation of a GPU: there is nothing to tune");
    return std::nullopt;
  }
  learn(*trace, recorded_row(*trace).row.value().settings);
  return trace;
}

int show_tuning(TrialArguments& given) {
  const auto since = ProgressLine::Clock::now();
  settle_rows(given.listing);
  given.listing.rows().refuse_unless({names_of(tune_columns())});
  std::vector<TrialSteps> traces;
  for (const std::string& file : given.files) {
    std::optional<TrialSteps> trace = open_tuned(file, given.incomplete());
    if (!trace) return kBadInput;
    traces.push_back(std::move(*trace));
  }
  std::vector<CallCosts> costs;
  for (const TrialSteps& trace : traces) costs.push_back(costs_for(trace, given.trial));
  TuneWishes wishes;
  for (const std::string& conf : given.trial.alloc_confs) {
    wishes.asked.push_back({.mode = "cache", .policy = "pytorch", .alloc_conf = conf});
  }
  wishes.adjust = [&](std::size_t trace, TrialRow& row) {
    adjust_row(given.trial, costs[trace], row);
  };
  std::string problem;
  const TuneAnswer answer =
      tune_traces(traces, wishes, ProgressLine("tune", "events", since).teller(), problem);
  if (!problem.empty()) return refuse(problem);
  const Tuned tuned{given.files, traces, answer, costs.front()};
  ShownTrials shown(given.listing);
  shown.add(tuned, tune_fields(shown.choice()), answer.rows, tune_columns(), tune_text);
  return shown.publish();
}

}  // namespace

Verb add_tune(CommandLine& line) {
  auto arguments = std::make_shared<TrialArguments>();
  Command& command = line.add_verb("tune", "Search the allocator settings that a run should have");
  add_trial_files(command, *arguments);
  add_tune_options(command, arguments->trial);
  add_replay_options(command, arguments->trial);
  add_listing_options(command, arguments->listing);
  command.footer(
      "With several files, each setting is ranked by its own worst run.\n"
      "Examples:\n"
      "  vramscope run --trace train.%p.trace ./train\n"
      "  vramscope tune train.4711.trace\n"
      "  vramscope tune small.trace large.trace\n"
      "  vramscope tune --alloc-conf max_split_size_mb:128 train.4711.trace");
  return {.command = &command, .act = [arguments] { return show_tuning(*arguments); }};
}

}  // namespace vramscope
