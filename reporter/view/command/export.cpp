// vramscope export: a report or a trace in the formats of other tools.
// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "reporter/view/analysis/subject.h"
#include "reporter/view/command/export_folder.h"
#include "reporter/view/command/export_input.h"
#include "reporter/view/command/inputs.h"
#include "reporter/view/command/newer.h"
#include "reporter/view/command/verb.h"
#include "reporter/view/export/formats.h"

namespace vramscope {
namespace {

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const ExportFormat& format : export_formats()) names.emplace_back(format.name);
  return names;
}

// "; ms_print opens massif", where it is the name of a program that opens one.
std::string opens_text(const std::string& given) {
  constexpr std::size_t kShortest = 4;  // of a name that is looked for
  if (given.size() < kShortest) return "";
  std::string formats;
  for (const ExportFormat& format : export_formats()) {
    if (format.opens_in.find(given) == format.opens_in.npos) continue;
    formats += (formats.empty() ? "; " + given + " opens " : " and ") + std::string(format.name);
  }
  return formats;
}

std::string not_a_format(const std::string& given) {
  if (export_format(given) != nullptr) return "";
  const std::vector<std::string> names = format_names();
  const std::vector<std::string_view> all(names.begin(), names.end());
  std::string hint = opens_text(given);
  if (hint.empty()) hint = nearest(given, names);
  return "'" + given + "' is no format" + hint + "; formats are " + listed(all);
}

constexpr std::string_view kCosts = "peak, leaked, kept, total, count";
std::string listed_costs() { return std::string(kCosts); }

std::string not_a_cost(const std::string& given) {
  return cost_named(given) ? "" : "'" + given + "' is none of " + listed_costs();
}

// Of `input` in a folder: "out/vramscope.train.4711.folded".
std::string output_in(const std::string& folder, const std::string& input,
                      const ExportFormat& format) {
  std::string name = input.substr(input.rfind('/') + 1);
  for (const std::string_view end : {".zst", ".json", ".trace"}) {
    if (name.size() > end.size() && name.ends_with(end)) name.erase(name.size() - end.size());
  }
  return folder + "/" + name + std::string(format.suffix);
}

// Why it is not written: it would become far larger than what it is made of. "": it is.
std::string too_large(const Exported& exported, const ExportFormat& format) {
  constexpr std::uint64_t kLarge = std::uint64_t{256} << 20;
  const std::uint64_t bytes = format.most_bytes == nullptr ? 0 : format.most_bytes(exported);
  if (bytes < kLarge) return "";
  return std::string(format.name) + " would become up to " + amount_text(bytes) +
         ", for JSON repeats the call stack at each event; --format memory_viz has each once, and "
         "is what PyTorch's viewer and torch.cuda._memory_viz read; --force writes it all the same";
}

// A stack of the cost leaked is no leak yet where the program went on.
void say_of_leaks(const Exported& exported, const ExportFormat& format) {
  const bool is_of_leaks = format.write == write_folded && exported.cost() == Cost::leaked;
  if (!is_of_leaks || exported.names() != nullptr || is_final(exported.report())) return;
  say("leaked: not freed when the report was written; the program continued after that");
}

// What is not in the file is added to `lost`.
int write(const Exported& exported, const ExportFormat& format, const std::string& path,
          const ExportArguments& arguments, std::set<std::string>& lost) {
  const std::string why = format.why_not == nullptr ? "" : format.why_not(exported);
  if (!why.empty()) return refuse(why);
  const std::string large = arguments.forced ? "" : too_large(exported, format);
  if (!large.empty()) return refuse(large);
  const std::string nothing = nothing_in(exported, format);
  if (!nothing.empty()) return refuse(nothing);
  Output output(path, readers_of(arguments.shared));
  const std::string wrong = format.write(exported, output);
  if (!wrong.empty()) return refuse(wrong);
  const std::string unwritten = output.end();
  if (!unwritten.empty()) return refuse(unwritten);
  if (const std::string text = lost_in(exported, format); !text.empty()) lost.insert(text);
  say_of_leaks(exported, format);
  return kFine;
}

std::string how_text(const ExportFormat& format, const std::string& file) {
  constexpr std::string_view kFile = "FILE";
  std::string text(format.how);
  for (std::size_t at = text.find(kFile); at != text.npos; at = text.find(kFile, at)) {
    const std::string name = shell_word(file);
    text.replace(at, kFile.size(), name);
    at += name.size();
  }
  return text;
}

// What was written, and how it is opened. Nobody looks at the line of a pipe.
void say_written(const ExportFormat& format, const std::string& to,
                 const std::vector<std::string>& files) {
  if (files.empty() || (to.empty() && isatty(STDOUT_FILENO) == 0)) return;
  std::uint64_t bytes = 0;
  for (const std::string& file : files) {
    struct stat found {};
    if (stat(file.c_str(), &found) == 0) bytes += static_cast<std::uint64_t>(found.st_size);
  }
  std::string line(format.name);
  if (files.size() > 1) line = count_text(files.size()) + " files of " + line;
  if (!to.empty()) {
    line += " in " + shell_word(files.size() > 1 ? to : files.front()) + " (" + amount_text(bytes) +
            ")";
  }
  say(line + "; to open " + (files.size() > 1 ? "one: " : "it: ") +
      how_text(format, to.empty() ? "FILE" : files.front()));
}

int export_all(const ExportArguments& arguments) {
  const ExportFormat& format = *export_format(arguments.format);
  if (format.is_folder) return export_folder(arguments, format);
  const std::vector<std::string> files = report_files(arguments.files, say);
  if (files.empty()) return kBadInput;
  tell_newer(arguments.files, files, say);
  const bool to_folder = is_folder(arguments.output);
  if (files.size() > 1 && !to_folder) {
    return refuse("several files are exported into an existing folder: -o FOLDER");
  }
  const bool is_dash = arguments.output == "-";
  const Overwriting overwriting = arguments.forced ? Overwriting::forced : Overwriting::asked_for;
  int status = kFine;
  std::vector<std::string> written;
  std::set<std::string> lost_parts;  // each once
  for (const std::string& file : files) {
    const std::string output = to_folder ? output_in(arguments.output, file, format)
                               : is_dash ? ""
                                         : arguments.output;
    const std::string lost = to_folder ? lost_by(output, files, overwriting) : "";
    const auto use = [&](const Exported& exported, const std::string&) {
      return write(exported, format, output, arguments, lost_parts);
    };
    const int one = lost.empty() ? with_exported(arguments, format, file, use) : refuse(lost);
    if (one == kFine) written.push_back(output);
    status = std::max(status, one);
  }
  if (!is_dash) say_written(format, arguments.output, written);
  for (const std::string& text : lost_parts) say(std::string(format.name) + " leaves out " + text);
  return status;
}

std::string formats_help() {
  std::string names;
  for (const ExportFormat& format : export_formats()) {
    names += (names.empty() ? "" : ", ") + std::string(format.name);
  }
  return "Choose the format: " + names;
}

std::string left_out_text(const ExportFormat& format) {
  const std::string_view why = format.why_left_out == nullptr ? "" : format.why_left_out();
  if (why.empty()) return "";
  return (format.is_folder ? "; this build writes csv instead: " : "; not in this build: ") +
         std::string(why);
}

std::string footer() {
  std::string text = "Formats:\n";
  for (const ExportFormat& format : export_formats()) {
    constexpr std::size_t kColumn = 14;
    std::string line = "  " + std::string(format.name);
    do line += ' ';
    while (line.size() < kColumn);
    text += line + "for " + std::string(format.opens_in) +
            (format.needs == ExportFormat::Needs::trace    ? "; traces only"
             : format.needs == ExportFormat::Needs::report ? "; reports only"
                                                           : "") +
            left_out_text(format) + "\n";
  }
  return text +
         "memory_viz_json repeats the call stack in each event. A file above 256 MiB needs "
         "--force.\nExamples:\n  vramscope export --format folded vramscope.train.4711.json | "
         "flamegraph.pl >peak.svg\n  vramscope export --format speedscope -o train.json "
         "vramscope.train.4711.json\n  vramscope export --format folded --cost leaked -o folder/ "
         "'run/*.json'\n  vramscope export --format parquet -o tables 'run/*.json'";
}

}  // namespace

Verb add_export(CommandLine& line) {
  auto arguments = std::make_shared<ExportArguments>();
  Command& command = line.add_verb("export", "Convert reports and traces for other tools");
  command.positional("FILE", &arguments->files, "Reports, traces, folders of reports, or patterns");
  command.option("--format", &arguments->format, formats_help(),
                 {.value_name = "FORMAT", .why_not = not_a_format, .choices = format_names()});
  command.option("-o,--output", &arguments->output,
                 "Write to FILE, a folder, or standard output (-)", {.value_name = "FILE"});
  add_force(command, arguments->forced);
  add_share(command, arguments->shared);
  command.option("--cost", &arguments->cost, "Choose what folded shows: " + listed_costs(),
                 {.value_name = "COST",
                  .why_not = not_a_cost,
                  .shows_default = true,
                  .choices = choices_in(listed_costs())});
  add_filters(command, arguments->filter, export_filters(""));
  add_view_options(command, arguments->stacks);
  add_redact(command, arguments->reading);
  command.footer(footer());
  return {.command = &command, .act = [arguments] {
            if (arguments->format.empty())
              return refuse("--format is required; see vramscope export --help");
            return export_all(*arguments);
          }};
}

}  // namespace vramscope
