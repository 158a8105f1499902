// vramscope fit: how small a GPU may be on which a run completes.
// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "reporter/view/command/progress.h"
#include "reporter/view/command/trial_input.h"
#include "reporter/view/command/trial_options.h"
#include "reporter/view/command/verb.h"
#include "reporter/view/text/fit_text.h"

namespace vramscope {
namespace {

struct Arguments {
  std::vector<std::string> files;
  TrialOptions trial;
  Listing listing;
};

int show_fits(Arguments& given) {
  settle_rows(given.listing);
  const RowChoice choice = given.listing.rows();
  choice.refuse_unless({names_of(fit_columns())});
  const Page page = page_of(given.listing);
  std::string text;
  std::string rows;
  CsvText csv(rows);
  JsonText json;
  json.array();
  for (const std::string& file : given.files) {
    std::optional<TrialSteps> trace = open_trial(file);
    if (!trace) return kBadInput;
    const bool is_assumed = assume_contexts(*trace);
    MadeRows made = make_rows(*trace, given.trial);
    if (!made.problem.empty()) return refuse(made.problem);
    ProgressLine progress("fit", "events");
    FitAnswer answer = fit_trace(*trace, std::move(made.rows), progress.teller());
    answer.is_context_assumed = is_assumed;
    const Fitted fitted{file, *trace, answer};
    if (given.listing.json) {
      add_value(json, fitted, fit_fields(choice));
    } else if (given.listing.csv) {
      add_rows(csv, chosen_rows(answer.rows, fit_columns(), choice), fit_columns());
    } else {
      text += (text.empty() ? "" : "\n") + render(fit_text(fitted, page, choice), page);
    }
  }
  if (given.listing.json) return publish(given.listing, json.end().text());
  return publish(given.listing, given.listing.csv ? rows : text);
}

}  // namespace

Verb add_fit(CommandLine& line) {
  auto arguments = std::make_shared<Arguments>();
  Command& command = line.add_verb("fit", "Find the smallest GPU on which a run completes");
  command.positional("FILE", &arguments->files, kTrialFilesHelp);
  add_trial_options(command, arguments->trial);
  add_listing_options(command, arguments->listing);
  command.footer(
      "Without --policy, --alloc-conf and --mode, the recording's settings and the usual ones are "
      "tried.\n"
      "Examples:\n"
      "  vramscope run --trace train.%p.trace ./train\n"
      "  vramscope fit train.4711.trace\n"
      "  vramscope fit --policy pytorch --alloc-conf expandable_segments:True train.4711.trace");
  return {.command = &command, .act = [arguments] { return show_fits(*arguments); }};
}

}  // namespace vramscope
