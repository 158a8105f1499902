// The command line tool: its verbs and exit codes.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <clocale>
#include <exception>
#include <iterator>
#include <new>
#include <string>
#include <vector>

#include "reporter/report/commit.h"
#include "reporter/report/report.h"
#include "reporter/view/command/inputs.h"
#include "reporter/view/command/verb.h"
#include "reporter/view/export/build_parts.h"
#include "reporter/view/system/executable.h"

namespace vramscope {
namespace {

constexpr const char* kFooter =
    "Examples:\n"
    "  vramscope run ./train                       record a program\n"
    "  vramscope report vramscope.train.4711.json  where did the memory go?\n"
    "  vramscope VERB --help                       more about one verb";

// "vramscope 0.1.0 (commit b55cfdc123456, 2026-11-23), report format 1".
std::string version() {
  std::string text = "vramscope " VRAMSCOPE_VERSION;
  if (!commit_name().empty()) {
    text.append(" (commit ").append(commit_name()).append(", ").append(commit_date()).append(")");
  }
  return text + ", report format " + std::to_string(kReportVersion);
}

// With --verbose also what this build has, a line a part.
std::string version_of(const std::vector<std::string>& words) {
  const bool verbose = std::find(words.begin(), words.end(), kVerboseFlag) != words.end();
  return version() + (verbose ? "\n" + build_parts_text() : "");
}

// Why what was typed behind -o may not be overwritten; "": it may.
std::string lost_by_typed(const Command& command) {
  const std::vector<std::string> output = command.given("--output");
  std::vector<std::string> read = command.given("FILE");
  for (const char* const other : {"BEFORE", "AFTER", "--against", "--suppress"}) {
    for (std::string& word : command.given(other)) read.push_back(std::move(word));
  }
  if (output.empty()) return "";
  const std::string lost =
      lost_by(output.back(), read,
              command.given("--force").empty() ? Overwriting::asked_for : Overwriting::forced);
  return lost.empty() ? "" : "-o " + lost;
}

int main_of_tool(std::vector<std::string> words) {
  CommandLine line({.name = "vramscope",
                    .description = "Vramscope shows where the CUDA memory of a program goes",
                    .version = version_of(words),
                    .footer = kFooter,
                    .width = help_width()});
  const Verb verbs[] = {
      add_run(line),      add_recover(line),    add_snapshot(line), add_list(line),
      add_live(line),     add_serve(line),      add_ctl(line),      add_attach(line),
      add_detach(line),   add_doctor(line),     add_report(line),   add_advise(line),
      add_stats(line),    add_sites(line),      add_peak(line),     add_leaks(line),
      add_oom(line),      add_owners(line),     add_map(line),      add_calls(line),
      add_timeline(line), add_trace(line),      add_replay(line),   add_fit(line),
      add_tune(line),     add_export(line),     add_html(line),     add_functions(line),
      add_options(line),  add_diff(line),       add_merge(line),    add_symbols_verb(line),
      add_check(line),    add_completion(line), add_manual(line)};

  const std::string first = words.empty() ? "" : words.front();
  for (const Verb& verb : verbs) {
    if (!verb.take || first != verb.command->name()) continue;
    std::vector<std::string> behind(words.begin() + 1, words.end());
    verb.take(behind);
    words.resize(1);
    words.insert(words.end(), behind.begin(), behind.end());
  }
  const bool is_verb = std::any_of(std::begin(verbs), std::end(verbs),
                                   [&](const Verb& verb) { return verb.command->name() == first; });
  if (!is_verb && !first.empty() && first[0] != '-') {
    std::vector<std::string> names;
    for (const Verb& verb : verbs) names.push_back(verb.command->name());
    const bool is_no_slip = first.find('/') != first.npos || nearest(first, names).empty();
    if (is_no_slip && !find_executable(first).path.empty()) {
      return refuse("no verb is called '" + first + "'; to run that program: vramscope run " +
                    shell_word(first));
    }
    say("no verb is called '" + first + "'" + nearest(first, names) + "; see vramscope --help");
    return kBadInput;
  }
  const CommandLine::Reading reading = line.read(words);
  if (reading.answered) return kFine;
  if (!reading.mistake.empty()) {
    say(reading.mistake + "; see vramscope " + (is_verb ? first + " " : "") + "--help");
    return is_verb && first == "run" ? kOwnFailure : kBadInput;
  }
  for (const Verb& verb : verbs) {
    if (!verb.command->was_typed()) continue;
    const std::string lost = verb.judges_output ? "" : lost_by_typed(*verb.command);
    if (lost.empty()) return verb.act();
    say(lost);
    return kBadInput;
  }
  return kBadInput;
}

}  // namespace
}  // namespace vramscope

int main(int argc, char** argv) {
  std::setlocale(LC_CTYPE, "");
  try {
    return vramscope::main_of_tool({argv + std::min(argc, 1), argv + argc});
  } catch (const std::bad_alloc&) {
    vramscope::say("out of memory");
    return vramscope::kBadInput;
  } catch (const std::exception& error) {
    vramscope::say(error.what());
    return vramscope::kBadInput;
  }
}
