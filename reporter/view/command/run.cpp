// vramscope run: starts a program with the library and says what was recorded.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/command/run.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <variant>

#include "interpose/settings/options.h"
#include "interpose/settings/private_variables.h"
#include "reporter/report/files/file_name.h"
#include "reporter/report/json.h"
#include "reporter/view/command/earlier.h"
#include "reporter/view/command/metrics_server.h"
#include "reporter/view/command/orphaned_live_files.h"
#include "reporter/view/command/recording_options.h"
#include "reporter/view/command/run_metrics.h"
#include "reporter/view/command/symbols_wish.h"
#include "reporter/view/command/verb.h"
#include "reporter/view/listing/format.h"
#include "reporter/view/system/environment.h"
#include "reporter/view/system/executable.h"
#include "reporter/view/system/free_before.h"
#include "reporter/view/system/installation.h"
#include "reporter/view/system/launch.h"
#include "reporter/view/system/launchers.h"
#include "reporter/view/system/library_search.h"
#include "reporter/view/system/note_file.h"
#include "reporter/view/system/nvml.h"
#include "reporter/view/system/output_check.h"
#include "reporter/view/system/preset.h"
#include "reporter/view/text/device_text.h"
#include "reporter/view/text/oom_text.h"

namespace vramscope {
namespace {

struct Arguments {
  bool simulate = false;
  bool quiet = false;
  std::string simulated_memory;
  std::string simulated_model;
  std::string preset;
  std::string metrics;  // address of a server; "": there is none
  GivenOptions options;
  std::vector<std::string> program;
  EarlierWish earlier;
  SymbolsWish symbols;
};

constexpr std::uint64_t kMostBytesToSummarise = 256 << 20;  // reading more would keep one waiting

void set_options(const Arguments& arguments) {
  for (const auto& [row, value] : arguments.options) {
    if (!value.empty()) setenv(row.variable.c_str(), value.c_str(), 1);
  }
}

// "; 'python3' was taken for the value of --trace", where that names a program.
std::string taken_by_option(const Arguments& arguments) {
  for (const auto& [row, value] : arguments.options) {
    const bool is_file = row.name == "output" || row.name == "trace";
    const bool is_name = !value.empty() && value.find('/') == std::string::npos;
    if (is_file && is_name && !find_executable(value).path.empty())
      return "; '" + value + "' was taken for the value of --" + row.name;
  }
  return "";
}

int start_failure(const Ending& ending, const Arguments& arguments) {
  const std::string& program = arguments.program[0];
  const std::string reason = ending.own ? "" : why_not_started(program);
  say("cannot run '" + program + "': " + (reason.empty() ? std::strerror(ending.error) : reason) +
      taken_by_option(arguments));
  if (ending.own) return kOwnFailure;
  return ending.error == ENOENT ? kNotFound : kNotExecutable;
}

std::optional<WrittenReport> choose(const std::vector<std::string>& paths, pid_t program) {
  std::optional<WrittenReport> last;
  for (auto path = paths.rbegin(); path != paths.rend(); ++path) {
    std::error_code error;
    const std::uint64_t size = std::filesystem::file_size(*path, error);
    if (error || size > kMostBytesToSummarise) continue;
    auto read = read_report(*path);
    if (!std::holds_alternative<Report>(read)) continue;
    WrittenReport found{*path, std::move(std::get<Report>(read))};
    if (found.report.process.pid == program) return found;
    if (!last) last = std::move(found);
  }
  return last;
}

constexpr const char* kFooter =
    "Examples:\n"
    "  vramscope run ./train --epochs 3\n"
    "  vramscope run --mode observe -o '/logs/%e.%r.json' torchrun train.py\n"
    "  vramscope run --preset pytorch python3 train.py\n"
    "  vramscope run --sim ./train                 on a machine without a GPU\n"
    "The exit status is the program's: 128+N if signal N ended it, 127 if it was not found, 126 if "
    "it cannot be executed, and 125 if Vramscope could not start it (wrong option, unwritable "
    "report).";

std::string why_no_report(const Arguments& arguments, const Ending& ending, bool failed) {
  if (failed) return "no report: it could not be written";
  const std::vector<Setting> settings = collect_settings(environ);
  const Options options = parse_options(settings).options;
  if (options.mode == Mode::off) return "mode off: nothing recorded";
  if (!options.report_at_exit) return "no report was asked for";
  if (ending.signal != 0) {
    const char* name = sigabbrev_np(ending.signal);
    return "no report: SIG" + std::string(name != nullptr ? name : "?") + " ended the program";
  }
  const std::string doctor = "; vramscope doctor " +
                             std::string(arguments.simulate ? "--sim " : "") +
                             shell_word(arguments.program[0]) + " says more";
  const std::string reason = why_not_loaded(arguments.program[0], ending.status);
  if (!reason.empty()) return "no report: " + reason + doctor;
  const bool no_driver = !arguments.simulate && found_by_loader("libcuda.so.1").empty();
  if (no_driver) return "no report: libcuda.so.1 was not found; try --sim" + doctor;
  return "no report: CUDA did not start in the program" + doctor;
}

// What is left of a run without a report.
void tell_traces(const std::vector<std::string>& all) {
  const std::vector<std::string> traces = existing(all);
  if (traces.empty()) return;
  std::error_code error;
  const std::string path = seen_from(std::filesystem::current_path(error).string(), traces.front());
  const std::string more =
      traces.size() == 1 ? "" : " and " + std::to_string(traces.size() - 1) + " more";
  say("trace in " + path + taken_name(path) + more +
      ", complete but for at most the last half second");
  say("next: vramscope trace --partial " + shell_word(path));
}

// What processes left that ended without a report becomes one, if they were to write any.
OrphanedLiveFiles recover_left(const Notes& notes, const Ending& ending, const EndTimes& ends) {
  if (parse_options(collect_settings(environ)).options.report_at_exit) {
    return recover_orphaned(notes, ending, ends);
  }
  remove_orphaned(notes.live_files);
  return {};
}

void tell_of_no_report(const OrphanedLiveFiles& left, const std::string& why, const Notes& notes) {
  if (left.written.empty()) say(why);
  if (!left.problems.empty()) say(left.problems.front());
  if (!left.written.empty()) say(elsewhere_text(left));
  tell_traces(notes.traces);
}

// Rank 0 names the folder in which all ranks' reports are, unless each has a folder of its own.
void tell_of_ranks(WrittenReport& written, const JobPlace& place) {
  const std::string folder = written.path.substr(0, written.path.rfind('/') + 1);
  written.others += "; rank 0 of " + std::to_string(place.world_size) + ", the others are quiet";
  written.next = folder.empty() ? "." : folder.substr(0, folder.size() - 1);
}

void conclude(const Arguments& arguments, const Ending& ending, const NoteFile& note,
              const EndTimes& ends) {
  const Notes notes = notes_in(note.path());
  const OrphanedLiveFiles left = recover_left(notes, ending, ends);
  const auto earlier = recover_earlier(arguments.earlier, arguments.quiet ? Told::no : Told::yes);
  const std::vector<std::string>& lines = notes.reports;
  std::vector<std::string> all = lines;
  all.insert(all.end(), left.written.begin(), left.written.end());
  std::vector<std::string> paths = existing(all);
  paths.insert(paths.end(), left.reports.begin(), left.reports.end());
  const std::string others = others_text(left) + earlier + add_symbols(paths, arguments.symbols);
  const JobPlace place = place_among_ranks();
  const bool has_failed = paths.empty() || !left.problems.empty();
  // Ranks that share a terminal: the first one speaks for all, and each of what went wrong.
  if (arguments.quiet || (place.rank > 0 && !has_failed)) return;
  // The simulated device has said why it cannot run this program.
  if (paths.empty() && !lines.empty() && lines.back() == kProgramRefused) return;
  if (paths.empty()) {
    const bool failed = !lines.empty() && lines.back() == kReportFailed;
    return tell_of_no_report(left, why_no_report(arguments, ending, failed) + earlier, notes);
  }
  std::error_code error;
  const std::string folder = std::filesystem::current_path(error).string();
  std::optional<WrittenReport> written = choose(paths, ending.pid);
  if (!written) {
    const std::string path = seen_from(folder, paths.back());
    say(place_text(left, ending) + path + taken_name(path) + others);
    return say("next: vramscope report " + shell_word(path));
  }
  count_processes(*written, paths, kMostBytesToSummarise);
  written->of_refusal = seen_from(folder, report_of_refusal(*written, paths));
  written->path = seen_from(folder, written->path);
  written->report.trace.path = seen_from(folder, written->report.trace.path);
  written->place = place_text(left, ending);
  written->others = others;
  written->are_several = !left.others.empty() || has_other_processes(paths, written->report);
  written->models_contexts = models_contexts(written->report);
  if (written->are_several) written->next = common_folder(paths, folder);
  if (place.rank == 0) tell_of_ranks(*written, place);
  for (const std::string& line : summary(*written, paths.size() - 1)) say(line);
}

// "" or which file could not be written in the end.
std::string why_no_output(const std::string& program) {
  const Options options = parse_options(collect_settings(environ)).options;
  if (options.mode == Mode::off) return "";
  if (!options.output_folder.empty()) make_output_folders(options, program);
  std::string problem = why_not_writable("report", options.output, program);
  if (problem.empty() && !options.trace.empty()) {
    problem = why_not_writable("trace", options.trace, program);
  }
  return problem;
}

// Sets up a framework, and says what the program's kind asks for. Returns false if that cannot be.
bool prepare(const Arguments& arguments) {
  const PresetResult preset = apply_preset(arguments.preset);
  if (!preset.conflict.empty()) {
    say(preset.conflict);
    return false;
  }
  if (arguments.quiet) return true;
  for (const std::string& line : preset.notes) say(line);
  if (const std::string line = starts_elsewhere(arguments.program); !line.empty()) say(line);
  return true;
}

int run(const Arguments& arguments) {
  if (arguments.program.empty()) {
    say("run: PROGRAM is missing; see vramscope run --help");
    return kOwnFailure;
  }
  if (const std::string reason = why_inactive(arguments.program[0]); !reason.empty()) {
    say("cannot record '" + arguments.program[0] + "': " + reason);
    return kOwnFailure;
  }
  set_options(arguments);
  if (!prepare(arguments)) return kOwnFailure;
  const NoteFile note;
  if (!note.error().empty()) say(note.error());
  if (note.error().empty()) setenv(kNoteVariable, note.path().c_str(), 1);
  Bytes memory;
  if (!read(arguments.simulated_memory, memory)) memory.value = 0;
  std::string nvml;
  const SimulatedDevice device{arguments.simulated_model, memory.value};
  const std::string error = prepare_environment(arguments.simulate, device, nvml);
  if (!error.empty()) {
    say(error);
    return kOwnFailure;
  }
  if (const std::string problem = why_no_output(arguments.program[0]); !problem.empty()) {
    say(problem);
    return kOwnFailure;
  }
  const RunMetrics metrics(arguments.metrics, note.path());
  if (!metrics.problem().empty()) {
    say(metrics.problem());
    return kOwnFailure;
  }
  if (!metrics.url().empty() && !arguments.quiet) say("serving " + metrics.url());
  note_free_before(note.path(), nvml);
  ExitWatcher watch(note.path());
  const Ending ending = launch(arguments.program);
  const EndTimes ends = watch.stop();
  if (ending.error != 0) return start_failure(ending, arguments);
  if (note.error().empty()) conclude(arguments, ending, note, ends);
  return ending.signal != 0 ? kSignalled + ending.signal : ending.status;
}

std::string no_size(const std::string& given) {
  constexpr std::uint64_t kLeast = std::uint64_t{2} << 20;  // what the simulated device can have
  constexpr std::uint64_t kMost = std::uint64_t{8} << 40;
  Bytes bytes;
  if (!read(given, bytes)) {
    return "'" + given + "' is not a size such as 16GiB or 512MiB" + unit_meant(given);
  }
  const bool is_possible = bytes.value >= kLeast && bytes.value <= kMost;
  return is_possible ? "" : "'" + given + "' is not from 2MiB to 8TiB";
}

std::string no_preset(const std::string& given) {
  return is_preset(given) ? "" : "'" + given + "' is none of " + preset_names();
}

// Whether the next word belongs to the option `word`: "-o", "-qo", "--output", but not "-oFILE".
bool takes_next_word(const Command& command, const std::string& word) {
  if (word.starts_with("--")) return command.takes_value(word);
  for (std::size_t i = 1; i < word.size(); ++i) {
    if (command.takes_value({'-', word[i]})) return i + 1 == word.size();
  }
  return false;
}

}  // namespace

std::vector<std::string> take_program(const Command& command, std::vector<std::string>& arguments) {
  std::size_t at = 0;
  while (at < arguments.size()) {
    const std::string& word = arguments[at];
    if (word.size() < 2 || word[0] != '-' || word == "--") break;
    at += takes_next_word(command, word) ? 2 : 1;
  }
  at = std::min(at, arguments.size());
  const bool mark = at < arguments.size() && arguments[at] == "--";
  const auto end_of_options = arguments.begin() + static_cast<std::ptrdiff_t>(at);
  std::vector<std::string> program(end_of_options + (mark ? 1 : 0), arguments.end());
  arguments.erase(end_of_options, arguments.end());
  return program;
}

Verb add_run(CommandLine& line) {
  auto arguments = std::make_shared<Arguments>();
  Command& command = line.add_verb("run", "Run a program and record its CUDA memory");
  command.usage("vramscope run [OPTIONS] [--] PROGRAM [ARGS...]");
  command.flag("--sim", arguments->simulate, "Use the simulated device, without a GPU or driver");
  command.option("--sim-memory", &arguments->simulated_memory,
                 "Set the simulated device's memory, such as 16GiB",
                 {.value_name = "BYTES", .why_not = no_size, .needs = "--sim"});
  add_simulated_model(command, arguments->simulated_model);
  command.option(
      "--preset", &arguments->preset,
      "Set up a framework to show each allocation: " + preset_names(),
      {.value_name = "NAME", .why_not = no_preset, .choices = choices_in(preset_names())});
  command.option("--metrics", &arguments->metrics,
                 "Serve metrics of the run to Prometheus at this address",
                 {.value_name = "[ADDRESS:]PORT", .why_not = not_an_address});
  command.flag("-q,--quiet", arguments->quiet, "Print no summary after the program has ended");
  add_earlier_options(command, arguments->earlier);
  add_symbols_option(command, arguments->symbols);
  add_recording_options(command, arguments->options);
  command.footer(kFooter);
  return {.command = &command,
          .act =
              [arguments] {
                const int status = run(*arguments);
                if (!is_nvml_asked()) return status;
                std::fflush(nullptr);
                std::_Exit(status);
              },
          .take =
              [arguments, &command](std::vector<std::string>& words) {
                arguments->program = take_program(command, words);
              },
          .judges_output = true};  // a name that is taken gets another ending
}

}  // namespace vramscope
