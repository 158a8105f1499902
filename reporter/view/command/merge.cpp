// vramscope merge: one report of several.
// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <variant>

#include "reporter/report/files/descriptor.h"
#include "reporter/report/files/input_file.h"
#include "reporter/report/files/output_file.h"
#include "reporter/report/json.h"
#include "reporter/report/merge.h"
#include "reporter/report/merged_process.h"
#include "reporter/report/report.h"
#include "reporter/report/trigger.h"
#include "reporter/view/command/inputs.h"
#include "reporter/view/command/merge_tree.h"
#include "reporter/view/command/merged_input.h"
#include "reporter/view/command/newer.h"
#include "reporter/view/command/symbols_wish.h"
#include "reporter/view/command/verb.h"
#include "reporter/view/system/report_symbols.h"

namespace vramscope {
namespace {

struct Arguments {
  std::vector<std::string> files;
  std::string output = "vramscope.merged.json";
  std::string part;  // "": all reports
  std::string tree;  // how many parts; "": nothing is printed
  bool forced = false;
  SymbolsWish symbols;
  Reading reading = {.becomes_file = true};
};

// How many processes are in it more than once: somebody merged twice.
std::size_t repeated(const Report& report) {
  std::size_t count = 0;
  for (std::size_t i = 1; i < report.processes.size(); ++i) {
    const bool is_again =
        identity_of(report.processes[i].process) == identity_of(report.processes[i - 1].process);
    count += is_again ? 1 : 0;
  }
  return count;
}

// Of one process, and among what is merged: nobody means to lose that.
bool is_input(const std::string& output, const std::vector<std::string>& paths) {
  if (is_of_trigger(output, Trigger::merged)) return false;
  return std::any_of(paths.begin(), paths.end(), [&](const std::string& path) {
    std::error_code error;
    return std::filesystem::equivalent(path, output, error);
  });
}

// Where the report goes, and what is there already, as it was judged.
struct Goal {
  explicit Goal(const std::string& output) : path(output) {
    is_taken = stat(output.c_str(), &judged) == 0;
    std::error_code error;
    const std::filesystem::path whole = std::filesystem::canonical(output, error);
    if (is_taken && !error) path = whole.string();
  }
  std::string path;  // where links lead
  bool is_taken = false;
  struct stat judged {};
};

// Of our own file, whatever has its name by now.
bool set_mode(const std::string& path, const FileIdentity& own, mode_t mode) {
  constexpr mode_t kModes = S_IRWXU | S_IRWXG | S_IRWXO;
  const Descriptor file(path, O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  return identity_of(file.number()) == own && fchmod(file.number(), mode & kModes) == 0;
}

// Under the name that was asked for, which was taken: that file is replaced whole, keeps its mode,
// and is the one that was judged; else the report stays where it is.
std::string renamed(const std::string& path, const FileIdentity& own, const Goal& goal,
                    const std::string& output) {
  if (path == goal.path) return output;
  const bool is_replaced = goal.is_taken && is_unchanged(goal.path, goal.judged) &&
                           set_mode(path, own, goal.judged.st_mode) &&
                           std::rename(path.c_str(), goal.path.c_str()) == 0;
  return is_replaced ? output : path;
}

int print_tree(const Arguments& given) {
  TreeOf of{.parts = 0, .output = given.output, .files = given.files};
  std::from_chars(given.tree.data(), given.tree.data() + given.tree.size(), of.parts);
  std::fputs(merge_tree(of).c_str(), stdout);
  return kFine;
}

std::string no_tree(const std::string& word) {
  const bool is_part = !word.empty() && word.find_first_not_of("0123456789") == word.npos &&
                       no_part("1/" + word).empty();
  return is_part ? "" : "'" + word + "' is no number of parts from 2 to 65536";
}

// Sites and processes may be too many for memory, so they are written one at a time.
int merge(const Arguments& given) try {
  const std::vector<std::string> paths = report_files(given.files, say);
  tell_newer(given.files, paths, say);
  if (is_input(given.output, paths)) {
    return refuse("-o '" + given.output + "' is one of the reports to merge; choose another name");
  }
  const Goal goal(given.output);
  const bool was_merged = is_of_trigger(given.output, Trigger::merged);
  const Overwriting overwriting = given.forced ? Overwriting::forced : Overwriting::asked_for;
  const std::string lost = was_merged ? "" : lost_by(given.output, {}, overwriting);
  if (!lost.empty()) return refuse("-o " + lost);
  Part part;
  if (!given.part.empty()) (void)read_part(given.part, part);
  MergedPart merged = readable_part(paths, part, given.reading);
  std::optional<Merger>& merger = merged.merger;
  if (!merger) return merged.failed == 0 && part.of > 1 && !paths.empty() ? kFine : kBadInput;
  const Report report = merger->finish_but_lists();
  remove_unfinished(goal.path, {});  // of a merge that was killed
  FileIdentity own;
  const auto written = write_report(report, merger->lists(), goal.path, &own);
  if (const auto* error = std::get_if<FileError>(&written)) {
    say(error->message);
    return kBadInput;
  }
  if (const std::size_t twice = repeated(report); twice != 0) {
    say(counted(twice, "report") + " counted again: of a process that is in it already");
  }
  const std::string path = renamed(std::get<std::string>(written), own, goal, given.output);
  const std::string processes = count_text(report.processes.size());
  const std::string symbols = add_symbols(
      {.path = path, .file = own, .report = report, .sites = merger->lists()}, given.symbols);
  const std::string left_out =
      merged.failed == 0 ? "" : "; " + counted(merged.failed, "file") + " left out";
  if (part.of == 1) {
    say(processes + (report.processes.size() == 1 ? " process" : " processes") + " in " + path +
        symbols + left_out);
    say("next: vramscope report " + shell_word(path));
  }
  return merged.failed == 0 ? kFine : kBadInput;
} catch (const std::system_error& error) {
  say(error.what());
  return kBadInput;
}

}  // namespace

Verb add_merge(CommandLine& line) {
  auto arguments = std::make_shared<Arguments>();
  Command& command = line.add_verb("merge", "Combine several reports into one");
  command.positional("FILE", &arguments->files, kReportsHelp);
  command.option("-o,--output", &arguments->output, "Write to FILE",
                 {.value_name = "FILE", .shows_default = true});
  command.option("--tree", &arguments->tree, "Print commands that merge N parts, and then these",
                 {.value_name = "N", .why_not = no_tree});
  command.option("--part", &arguments->part, "Merge every Nth report, from number I on",
                 {.value_name = "I/N", .why_not = no_part});
  command.exclude("--tree", "--part");
  add_force(command, arguments->forced);
  add_symbols_option(command, arguments->symbols);
  add_redact(command, arguments->reading);
  command.footer(
      "Every verb reads the result. If several reports describe one process, the last one counts. "
      "A report that cannot be read is named and left out; the exit status is then 2.\nExamples:\n "
      " vramscope merge -o all.json "
      "vramscope.train.*.json\n  vramscope merge -o both.json node1.json node2.json     merged "
      "reports can be merged again");
  return {.command = &command,
          .act =
              [arguments] {
                return arguments->tree.empty() ? merge(*arguments) : print_tree(*arguments);
              },
          .judges_output = true};
}

}  // namespace vramscope
