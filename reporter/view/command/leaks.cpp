// vramscope leaks: what was never freed, and what of that may be meant to stay.
// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "reporter/report/report.h"
#include "reporter/view/command/show.h"
#include "reporter/view/text/leaks_text.h"

namespace vramscope {
namespace {

constexpr std::size_t kRows = 20;

struct Arguments : OneReport {
  std::vector<std::string> suppress;
  bool no_usual = false;
  bool full = false;
  std::string
      exit_code;  // "": leaks do not count; as the parser gives a flag without a value: "true"
};

std::string no_exit_code(const std::string& given) {
  if (given == "true") return "";
  const bool is_number = not_a_count(given).empty() && given.size() <= 3;
  const int number = is_number ? std::stoi(given) : 0;
  return number >= 1 && number <= 255 ? "" : "'" + given + "' is not a number from 1 to 255";
}

TypedOptions typed_suppressions(const Arguments& given) {
  TypedOptions typed;
  for (const std::string& file : given.suppress) typed.emplace_back("--suppress", file);
  if (given.no_usual) typed.emplace_back("--no-default-suppressions", "");
  return typed;
}

int show_leaks(Arguments& given) {
  const std::optional<Suppressions> suppressions =
      open_suppressions(given.suppress, given.no_usual);
  if (!suppressions) return kBadInput;
  const NameFrame name = names_from_symbols(given.full ? Stacks::in_full : Stacks::in_rows);
  bool any = false;
  std::size_t without = 0;  // leaks: reports
  const auto found_in = [&](const Report& report) {
    Leaks leaks = leaks_of(report, *suppressions, name);
    any = any || !leaks.leaks.empty();
    arrange(leaks.leaks, leak_columns(report, name), given.listing.rows());
    return leaks;
  };
  const auto text = [&](const Report& report, const Page& page) {
    Leaks leaks = found_in(report);
    std::stable_sort(leaks.leaks.begin(), leaks.leaks.end(),  // each class under one heading
                     [](const Leak& a, const Leak& b) { return a.looks < b.looks; });
    if (given.is_one_of_several && leaks.leaks.empty() && leaks.suppressed.empty() &&
        leaks.caches.empty()) {
      ++without;
      return Document();
    }
    return leaks_text(report, leaks, *suppressions, name, page,
                      {.most = given.listing.most,
                       .whole_stacks = given.full,
                       .path = given.file,
                       .suppressions = typed_suppressions(given)});
  };
  const auto json = [&](const Report& report) {
    return leaks_json(report, found_in(report), *suppressions, name, given.listing.most);
  };
  const auto csv = [&](const Report& report, CsvText& rows) {
    add_rows(rows, found_in(report).leaks, leak_columns(report, name), given.listing.most);
  };
  given.has_summary = false;
  given.prepare = [&](Report& report) { join_alike_leaks(report, name); };
  given.opening = [&](const Page& page) {
    if (without == 0) return std::string();
    const std::string& typed = given.files.size() == 1 ? given.files.front() : given.file;
    return sentence("Nothing was left in " + counted(without, "report") + ".", page) +
           (any ? "" : next_command("report", typed, page));
  };
  given.columns = {names_of(leak_columns(Report(), {}))};
  const int status = show(given, {text, json, csv});
  if (status != kFine || !any || given.exit_code.empty()) return status;
  return given.exit_code == "true" ? kThreshold : std::stoi(given.exit_code);
}

}  // namespace

Verb add_leaks(CommandLine& line) {
  auto arguments = std::make_shared<Arguments>();
  Command& command = line.add_verb("leaks", "List memory that was never freed");
  arguments->use = {.measure = Measure::live,
                    .inputs = Inputs::both,
                    .row_is_of_memory = true,
                    .of_a_trace = "leaks"};
  arguments->adds_up = true;
  add_one_report(command, *arguments, kRows);
  add_filters(command, arguments->filter, arguments->use);
  command.option("--suppress", &arguments->suppress,
                 "Ignore leaks that FILE lists (LeakSanitizer's syntax); repeatable",
                 {.value_name = "FILE"});
  command.flag("--no-default-suppressions", arguments->no_usual,
               "Also list what common libraries keep");
  command.flag("--full", arguments->full, "Show whole call stacks with types, paths and lines");
  command.flag(
      "--tree", [arguments] { arguments->stacks.shown = Stacks::as_tree; },
      "Show a tree of call stacks for each class: grows, left, late, kept");
  command.exclude("--full", "--tree");
  command.exclude("--tree", "--sort");
  command.flag("--error-exitcode", arguments->exit_code,
               "Exit with status 1, or N, if anything is listed",
               {.value_name = "[=N]", .why_not = no_exit_code});
  add_view_options(command, arguments->stacks);
  add_reading(command, arguments->reading);
  command.footer(
      "A suppression file lists memory that is meant to stay. Each line is leak:PATTERN. "
      "vramscope leaks looks for PATTERN in every function, source file and library of the call "
      "stack (* is anything, ^ the beginning, $ the end; # begins a comment):\n"
      "  leak:^load_tables\n"
      "  leak:/libmymodel.so\n"
      "What cuBLAS, cuDNN, NCCL, MPI, PyTorch, TensorFlow, JAX, CuPy, RMM and other libraries keep "
      "is left out by default (share/vramscope/usual.suppressions gives the reasons). A table at "
      "the end counts what was left out.\n"
      "Examples:\n"
      "  vramscope leaks vramscope.train.4711.json\n"
      "  vramscope leaks --suppress known.supp --error-exitcode vramscope.train.4711.json\n"
      "  vramscope leaks --no-default-suppressions vramscope.train.4711.json    what libraries "
      "keep\n"
      "  vramscope leaks --thread loader train.4711.trace     of one thread (run --trace)");
  return {.command = &command, .act = [arguments] { return show_leaks(*arguments); }};
}

}  // namespace vramscope
