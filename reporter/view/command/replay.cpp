// vramscope replay: what a program would have taken under other settings.
// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "reporter/view/command/progress.h"
#include "reporter/view/command/trial_input.h"
#include "reporter/view/text/replay_text.h"

namespace vramscope {
namespace {

int show_replays(TrialArguments& given) {
  const auto since = ProgressLine::Clock::now();
  const auto show = [&](const std::string& file, TrialSteps& trace, ShownTrials& shown) {
    MadeRows made = make_rows(trace, given.trial);
    if (!made.problem.empty()) return made.problem;
    ProgressLine progress("replay", "events", since);
    const ReplayAnswer answer = replay_trace(trace, std::move(made.rows), progress.teller());
    const Replayed replayed{file, trace, answer, made.costs};
    shown.add(replayed, replay_fields(shown.choice()), replay_lines(replayed), replay_columns(),
              replay_text);
    return std::string();
  };
  return show_trials(given, names_of(replay_columns()), show);
}

}  // namespace

Verb add_replay(CommandLine& line) {
  auto arguments = std::make_shared<TrialArguments>();
  Command& command =
      line.add_verb("replay", "Show a run's memory and driver time under other settings");
  add_trial_files(command, *arguments);
  add_trial_options(command, arguments->trial);
  add_replay_options(command, arguments->trial);
  add_listing_options(command, arguments->listing);
  command.footer(
      "Without --policy, --alloc-conf and --mode, replay uses the recording's settings and the "
      "usual ones.\n"
      "Examples:\n"
      "  vramscope run --trace train.%p.trace ./train\n"
      "  vramscope replay train.4711.trace\n"
      "  vramscope replay --capacity 24GiB --policy native-safe --policy pytorch train.4711.trace\n"
      "  vramscope replay --alloc-conf max_split_size_mb:128 train.4711.trace");
  return {.command = &command, .act = [arguments] { return show_replays(*arguments); }};
}

}  // namespace vramscope
