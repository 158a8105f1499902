// vramscope symbols: puts names of functions, files and lines into reports, so that these can be
// read where the program's files are not. And --symbols of the verbs that make reports.
// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <memory>
#include <system_error>

#include "reporter/report/symbol_cache.h"
#include "reporter/view/command/inputs.h"
#include "reporter/view/command/symbols_wish.h"
#include "reporter/view/command/verb.h"
#include "reporter/view/listing/format.h"
#include "reporter/view/system/report_symbols.h"

namespace vramscope {
namespace {

struct Arguments {
  std::vector<std::string> files;
};

std::string not_until(const std::string& given) {
  constexpr std::size_t kMostDigits = 6;
  const bool is_count = !given.empty() && given.size() <= kMostDigits &&
                        given.find_first_not_of("0123456789") == given.npos;
  return is_count || given == "off" || given == "end"
             ? ""
             : "'" + given + "' is none of off, end, or a number of seconds";
}

SymbolsDeadline deadline_of(const std::string& until) {
  if (until == "end") return std::nullopt;
  return std::chrono::steady_clock::now() + std::chrono::seconds(std::stoul(until));
}

// "r.json: 312 more frames named".
std::string told(const std::string& path, const SymbolsPut& put) {
  std::string text = path + ": " + counted(put.named, "more frame") + " named";
  if (put.too_much != 0) {
    text += "; " + count_text(put.too_much) + " left out: the report would become twice as large";
  }
  return text;
}

// Larger files keep one waiting.
bool is_soon_named(const std::string& path) {
  constexpr std::uint64_t kMostBytes = std::uint64_t{256} << 20;
  std::error_code error;
  return std::filesystem::is_regular_file(path, error) &&
         std::filesystem::file_size(path, error) <= kMostBytes;
}

std::string not_in_it(const SymbolsPut& put) {
  return "; names of functions are not in it: " + put.problem;
}

// left: the number of frames of the report `of`.
std::string not_named(std::size_t left, const SymbolsWish& wish, const std::string& of) {
  if (left == 0) return "";
  return "; " + counted(left, "frame") + " not named in " + wish.until + " s: vramscope symbols " +
         shell_word(of);
}

int name_all(const Arguments& given) {
  const std::vector<std::string> paths = report_files(given.files, say);
  if (paths.empty()) return kBadInput;
  Symbols symbols(symbol_cache_folder());
  int status = kFine;
  for (const std::string& path : paths) {
    const SymbolsPut put = put_symbols(path, symbols, {});
    say(put.problem.empty() ? told(path, put) : put.problem);
    if (!put.problem.empty()) status = kBadInput;
  }
  if (status == kFine) say("next: vramscope report " + shell_word(paths.back()));
  return status;
}

}  // namespace

void add_symbols_option(Command& command, SymbolsWish& wish) {
  command.option(
      "--symbols", &wish.until,
      "Add function names and lines to reports: off, end (take as long as needed), or SECONDS "
      "(stop after that time)",
      {.value_name = "WHEN", .why_not = not_until, .shows_default = true});
}

std::string add_symbols(const std::vector<std::string>& paths, const SymbolsWish& wish) {
  if (wish.until == "off") return "";
  const SymbolsDeadline deadline = deadline_of(wish.until);
  Symbols symbols(symbol_cache_folder());
  std::size_t left = 0;
  std::string of;
  for (const std::string& path : paths) {
    if (!is_soon_named(path)) continue;
    const SymbolsPut put = put_symbols(path, symbols, deadline);
    if (put.is_foreign) continue;  // the verb says so to whoever asks
    if (!put.problem.empty()) return not_in_it(put);
    if (put.too_late != 0) of = path;
    left += put.too_late;
  }
  return not_named(left, wish, of);
}

std::string add_symbols(const SavedReport& written, const SymbolsWish& wish) {
  if (wish.until == "off" || !is_soon_named(written.path)) return "";
  const SymbolsDeadline deadline = deadline_of(wish.until);
  Symbols symbols(symbol_cache_folder());
  const SymbolsPut put = put_symbols(written, symbols, deadline);
  if (put.is_foreign) return "";
  return put.problem.empty() ? not_named(put.too_late, wish, written.path) : not_in_it(put);
}

Verb add_symbols_verb(CommandLine& line) {
  auto arguments = std::make_shared<Arguments>();
  Command& command = line.add_verb("symbols", "Add function names and lines to reports");
  command.positional("FILE", &arguments->files, kReportsHelp);
  command.footer(
      "A report holds addresses. run, recover and merge add the names of functions and lines to "
      "it. This verb adds the names that are still missing, on the machine that has the program's "
      "files or their debug files. The report then reads the same on every machine. Nothing else "
      "in it changes.\n"
      "Examples:\n"
      "  vramscope symbols vramscope.train.4711.json\n"
      "  vramscope symbols reports/                    before you copy the folder");
  return {.command = &command, .act = [arguments] { return name_all(*arguments); }};
}

}  // namespace vramscope
