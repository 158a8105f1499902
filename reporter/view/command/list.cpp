// vramscope list: the programs that are recorded now.
// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "reporter/report/live/live_reading.h"
#include "reporter/view/command/publish_rows.h"
#include "reporter/view/system/running.h"
#include "reporter/view/system/stale_sockets.h"
#include "reporter/view/text/running_text.h"

namespace vramscope {
namespace {

constexpr const char* kNoLiveFile = "it has no live file, so its figures cannot be read";

// A process that has ended meanwhile is no row.
std::vector<RunningProgram> rows() {
  remove_stale_sockets();
  std::vector<RunningProgram> programs;
  for (const RunningProcess& process : running_processes()) {
    LiveReading reading{.problem = kNoLiveFile};
    if (!process.live_file.empty()) reading = LiveReader(process.live_file).read();
    if (reading.has_ended) continue;
    programs.push_back(running_program(process.pid, process.live_file, reading));
  }
  return programs;
}

}  // namespace

Verb add_list(CommandLine& line) {
  auto listing = std::make_shared<Listing>();
  Command& command = line.add_verb("list", "List this user's programs that are recorded now");
  add_listing_options(command, *listing);
  command.footer(
      "The figures come from the programs' live files. list sends no signal and does not stop a "
      "program. It leaves out programs of other users and those that have not used CUDA yet.\n"
      "Examples:\n"
      "  vramscope list --sort live_bytes\n"
      "  vramscope list --json | jq -r '.[].pid'");
  const auto show = [=] {
    return publish_rows<RunningProgram>(*listing, rows, running_columns(), running_text);
  };
  return {.command = &command, .act = show};
}

}  // namespace vramscope
