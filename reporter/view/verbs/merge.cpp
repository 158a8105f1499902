// vramscope merge: one report of several.
// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <optional>
#include <system_error>
#include <variant>

#include "reporter/report/json.h"
#include "reporter/report/merge.h"
#include "reporter/report/report.h"
#include "reporter/view/verbs/inputs.h"
#include "reporter/view/verbs/merged_input.h"
#include "reporter/view/verbs/verb.h"

namespace vramscope {
namespace {

struct Arguments {
  std::vector<std::string> files;
  std::string output = "vramscope.merged.json";
};

// How many processes are in it more than once: somebody merged twice.
std::size_t repeated(const Report& report) {
  std::size_t count = 0;
  for (std::size_t i = 1; i < report.processes.size(); ++i) {
    const ProcessFacts& one = report.processes[i - 1].process;
    const ProcessFacts& next = report.processes[i].process;
    count += one.pid == next.pid && one.hostname == next.hostname &&
                     one.start_time_ns == next.start_time_ns
                 ? 1
                 : 0;
  }
  return count;
}

// Sites may be too many for memory, so they are written one at a time.
int merge(const Arguments& given) try {
  std::optional<Merger> merger = merger_of(report_files(given.files, say));
  if (!merger) return kBadInput;
  const Report report = merger->finish_but_sites();
  const auto written = write_report(report, merger->sites(), given.output);
  if (const auto* error = std::get_if<FileError>(&written)) {
    say(error->message);
    return kBadInput;
  }
  if (const std::size_t twice = repeated(report); twice != 0) {
    say(counted(twice, "report") + " counted again: of a process that is in it already");
  }
  const std::string path = std::get<std::string>(written);
  const std::string processes = count_text(static_cast<std::int64_t>(report.processes.size()));
  say(processes + (report.processes.size() == 1 ? " process" : " processes") + " in " + path);
  say("next: vramscope report " + shell_word(path));
  return kFine;
} catch (const std::system_error& error) {
  say(error.what());
  return kBadInput;
}

}  // namespace

Verb add_merge(CommandLine& line) {
  auto arguments = std::make_shared<Arguments>();
  Command& command = line.add_verb("merge", "Make one report of several");
  command.positional("FILE", &arguments->files, kReportsHelp);
  command.option("-o,--output", &arguments->output, "Write to FILE; a taken name gets ~1",
                 {.value_name = "FILE", .shows_default = true});
  command.footer(
      "Every verb reads the result. Of several reports of one process the last one counts.\n"
      "Examples:\n"
      "  vramscope merge -o all.json vramscope.train.*.json\n"
      "  vramscope merge -o both.json node1.json node2.json     merged reports merge, too");
  return {.command = &command, .act = [arguments] { return merge(*arguments); }};
}

}  // namespace vramscope
