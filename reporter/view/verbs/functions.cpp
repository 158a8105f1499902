// vramscope functions: what the library intercepts.
// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "reporter/view/text/functions_text.h"
#include "reporter/view/verbs/verb.h"

namespace vramscope {

Verb add_functions(CommandLine& line) {
  auto listing = std::make_shared<Listing>();
  Command& command = line.add_verb("functions", "List the driver functions intercepted");
  add_listing_options(command, *listing);
  command.footer(
      "PATH is routed where the library answers, direct where the driver does and the result is\n"
      "recorded. The runtime's functions (cudaMalloc, ...) all end in these.");
  const auto show = [listing] {
    return publish(*listing, listing->json ? functions_json(listing->most)
                                           : functions_text(page_of(*listing), listing->most));
  };
  return {.command = &command, .act = show};
}

}  // namespace vramscope
