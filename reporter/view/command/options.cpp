// vramscope options: what can be set, by an option of `run` or by a variable.
// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "reporter/view/command/publish_rows.h"
#include "reporter/view/text/options_text.h"

namespace vramscope {
namespace {

struct Arguments {
  Listing listing;
  bool markdown = false;
};

int show(Arguments& arguments) {
  const auto text = [&](const std::vector<OptionRow>& rows, const Page& page) {
    return arguments.markdown ? options_markdown(rows)
                              : options_text(rows, page) + "\nNext: vramscope run --help\n";
  };
  return publish_rows<OptionRow>(arguments.listing, option_rows, option_columns(), text);
}

}  // namespace

Verb add_options(CommandLine& line) {
  auto arguments = std::make_shared<Arguments>();
  Command& command =
      line.add_verb("options", "List the settings with defaults and accepted values");
  add_listing_options(command, arguments->listing);
  command.flag("--markdown", arguments->markdown, "Print a table in Markdown");
  command.exclude("--markdown", "--json");
  command.exclude("--markdown", "--csv");
  command.footer(
      "Each setting is an option of vramscope run, and a variable if you preload the library by "
      "hand. If a variable has a bad value, the program prints one line on stderr and uses the "
      "default.\n"
      "Examples:\n"
      "  vramscope options | grep -A1 stack\n"
      "  vramscope options --json | jq -r '.[] | .variable + \"=\" + .default'");
  return {.command = &command, .act = [arguments] { return show(*arguments); }};
}

}  // namespace vramscope
