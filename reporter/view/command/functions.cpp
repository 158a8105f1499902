// vramscope functions: what the library intercepts.
// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "reporter/view/command/publish_rows.h"
#include "reporter/view/text/functions_text.h"

namespace vramscope {

namespace {

constexpr const char* kNextRun = "\nNext: vramscope run --help\n";

}  // namespace

Verb add_functions(CommandLine& line) {
  auto listing = std::make_shared<Listing>();
  Command& command = line.add_verb("functions", "List the driver functions that can be recorded");
  add_listing_options(command, *listing);
  command.footer(
      "The column PATH says routed if the library answers the call, direct if the driver answers "
      "it and the "
      "library records the result, and bounded if the driver answers it after the library has "
      "checked --device-memory-limit. LOOKED UP AS is the name that programs pass to "
      "cuGetProcAddress; SINCE is the version of CUDA that first has the "
      "function. The runtime's functions (cudaMalloc, ...) all call these.\nExamples:\n  vramscope "
      "functions | grep -i ipc                    is a call of mine recorded?\n  vramscope "
      "functions --json | jq -r '.[] | select(.effect == \"allocate\").symbol'");
  const auto text = [](const std::vector<InterceptedFunction>& rows, const Page& page) {
    const Table table = table_of(function_columns(), rows, page);
    return table.text(page) + table.left_out(page) + kNextRun;
  };
  const auto show = [=] {
    return publish_rows<InterceptedFunction>(*listing, function_rows, function_columns(), text);
  };
  return {.command = &command, .act = show};
}

}  // namespace vramscope
