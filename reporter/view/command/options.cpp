// vramscope options: what can be set, by an option of `run` or by a variable.
// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "reporter/view/command/verb.h"
#include "reporter/view/text/options_text.h"

namespace vramscope {
namespace {

struct Arguments {
  Listing listing;
  bool markdown = false;
};

int show(Arguments& arguments) {
  settle_rows(arguments.listing);
  const Listing& listing = arguments.listing;
  const RowChoice choice = listing.rows();
  choice.refuse_unless({option_columns()});
  if (listing.csv) {
    return publish_csv(listing, [&](CsvText& csv) { add_options_csv(csv, choice); });
  }
  if (arguments.markdown) return publish(listing, options_markdown(choice));
  if (listing.json) return publish(listing, options_json(choice));
  const std::string next = "\nNext: vramscope run --help\n";
  return publish(listing, options_text(page_of(listing), choice) + next);
}

}  // namespace

Verb add_options(CommandLine& line) {
  auto arguments = std::make_shared<Arguments>();
  Command& command = line.add_verb("options", "List the settings, their defaults and values");
  add_listing_options(command, arguments->listing);
  command.flag("--markdown", arguments->markdown, "As a table in Markdown");
  command.exclude("--markdown", "--json");
  command.exclude("--markdown", "--csv");
  command.footer(
      "Each is an option of `vramscope run`, and a variable where the library is preloaded by\n"
      "hand. A bad value of a variable is one line on stderr, and the default stays.\n"
      "Examples:\n"
      "  vramscope options | grep -A1 stack\n"
      "  vramscope options --json | jq -r '.[] | .variable + \"=\" + .default'");
  return {.command = &command, .act = [arguments] { return show(*arguments); }};
}

}  // namespace vramscope
