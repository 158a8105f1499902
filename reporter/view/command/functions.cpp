// vramscope functions: what the library intercepts.
// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "reporter/view/command/verb.h"
#include "reporter/view/text/functions_text.h"

namespace vramscope {

namespace {

constexpr const char* kNextRun = "\nNext: vramscope run --help\n";

}  // namespace

Verb add_functions(CommandLine& line) {
  auto listing = std::make_shared<Listing>();
  Command& command = line.add_verb("functions", "List the driver functions intercepted");
  add_listing_options(command, *listing);
  command.footer(
      "PATH is routed where the library answers, direct where the driver does and the result is\n"
      "recorded, bounded where a limit on memory is asked before. The runtime's functions\n"
      "(cudaMalloc, ...) all end in these.\n"
      "Examples:\n"
      "  vramscope functions | grep -i ipc                    is a call of mine seen?\n"
      "  vramscope functions --json | jq -r '.[] | select(.effect == \"allocate\").symbol'");
  const auto show = [listing] {
    settle_rows(*listing);
    const RowChoice choice = listing->rows();
    choice.refuse_unless({function_columns()});
    if (listing->csv) {
      return publish_csv(*listing, [&](CsvText& csv) { add_functions_csv(csv, choice); });
    }
    const std::string rows = listing->json ? functions_json(choice)
                                           : functions_text(page_of(*listing), choice) + kNextRun;
    return publish(*listing, rows);
  };
  return {.command = &command, .act = show};
}

}  // namespace vramscope
