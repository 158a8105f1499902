// vramscope replay: what a program would have taken under other settings.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>

#include "reporter/view/command/progress.h"
#include "reporter/view/command/trial_input.h"
#include "reporter/view/command/trial_options.h"
#include "reporter/view/command/verb.h"
#include "reporter/view/text/replay_text.h"

namespace vramscope {
namespace {

struct Arguments {
  std::vector<std::string> files;
  TrialOptions trial;
  Listing listing;
};

// What is shown of one trace after another.
struct Shown {
  std::string text;
  JsonText json;
};

int show_replays(Arguments& given) {
  settle_rows(given.listing);
  const RowChoice choice = given.listing.rows();
  choice.refuse_unless({names_of(replay_columns())});
  const Page page = page_of(given.listing);
  std::string text;
  std::string csv_text;
  CsvText csv(csv_text);
  JsonText json;
  json.array();
  for (const std::string& file : given.files) {
    std::optional<TrialSteps> trace = open_trial(file);
    if (!trace) return kBadInput;
    MadeRows made = make_rows(*trace, given.trial);
    if (!made.problem.empty()) return refuse(made.problem);
    ProgressLine progress("replay", "events");
    const ReplayAnswer answer = replay_trace(*trace, std::move(made.rows), progress.teller());
    const Replayed replayed{file, *trace, answer, made.costs};
    if (given.listing.json) {
      add_value(json, replayed, replay_fields(choice));
    } else if (given.listing.csv) {
      std::vector<ReplayLine> lines = replay_lines(replayed);
      add_rows(csv, chosen_rows(lines, replay_columns(), choice), replay_columns());
    } else {
      text += (text.empty() ? "" : "\n") + render(replay_text(replayed, page, choice), page);
    }
  }
  if (given.listing.json) return publish(given.listing, json.end().text());
  return publish(given.listing, given.listing.csv ? csv_text : text);
}

}  // namespace

Verb add_replay(CommandLine& line) {
  auto arguments = std::make_shared<Arguments>();
  Command& command =
      line.add_verb("replay", "Show what a run would have taken under other settings");
  command.positional("FILE", &arguments->files, kTrialFilesHelp);
  add_trial_options(command, arguments->trial);
  add_replay_options(command, arguments->trial);
  add_listing_options(command, arguments->listing);
  command.footer(
      "Without --policy, --alloc-conf and --mode, the recording's settings and the usual ones are "
      "played.\n"
      "Examples:\n"
      "  vramscope run --trace train.%p.trace ./train\n"
      "  vramscope replay train.4711.trace\n"
      "  vramscope replay --capacity 24GiB --policy native-safe --policy pytorch train.4711.trace\n"
      "  vramscope replay --alloc-conf max_split_size_mb:128 train.4711.trace");
  return {.command = &command, .act = [arguments] { return show_replays(*arguments); }};
}

}  // namespace vramscope
