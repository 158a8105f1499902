// The command line tool: its verbs and exit codes.
// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <algorithm>
#include <clocale>
#include <exception>
#include <iterator>
#include <string>
#include <vector>

#include "reporter/view/verbs/verb.h"

namespace vramscope {
namespace {

constexpr const char* kFooter =
    "Examples:\n"
    "  vramscope run ./train                       record a program\n"
    "  vramscope report vramscope.train.4711.json  where did the memory go?\n"
    "  vramscope VERB --help                       more about one verb";

// Help and version are no errors; anything else is one line.
int usage(const CLI::App& app, const CLI::ParseError& error, const std::string& verb) {
  if (error.get_exit_code() == 0) return app.exit(error);
  std::string line = error.what();
  std::replace(line.begin(), line.end(), '\n', ' ');
  say(line + "; see vramscope " + (verb.empty() ? "" : verb + " ") + "--help");
  return verb == "run" ? kOwnFailure : kBadInput;
}

int main_of_tool(std::vector<std::string> words) {
  CLI::App app("Vramscope: where the CUDA memory of a program goes", "vramscope");
  app.set_version_flag("--version", "vramscope " VRAMSCOPE_VERSION, "Show the version");
  app.require_subcommand(1);
  app.footer(kFooter);
  const Verb verbs[] = {add_run(app),   add_snapshot(app),  add_report(app), add_stats(app),
                        add_sites(app), add_peak(app),      add_owners(app), add_timeline(app),
                        add_trace(app), add_functions(app), add_options(app)};

  const std::string first = words.empty() ? "" : words.front();
  for (const Verb& verb : verbs) {
    if (!verb.take || first != verb.command->get_name()) continue;
    std::vector<std::string> behind(words.begin() + 1, words.end());
    verb.take(behind);
    words.resize(1);
    words.insert(words.end(), behind.begin(), behind.end());
  }
  const bool is_verb = std::any_of(std::begin(verbs), std::end(verbs), [&](const Verb& verb) {
    return verb.command->get_name() == first;
  });
  if (!is_verb && !first.empty() && first[0] != '-') {
    say("no verb is called '" + first + "'; see vramscope --help");
    return kBadInput;
  }
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));  // the parser's order
  } catch (const CLI::ParseError& error) {
    return usage(app, error, is_verb ? first : "");
  }
  for (const Verb& verb : verbs) {
    if (verb.command->parsed()) return verb.act();
  }
  return kBadInput;
}

}  // namespace
}  // namespace vramscope

int main(int argc, char** argv) {
  std::setlocale(LC_CTYPE, "");
  try {
    return vramscope::main_of_tool({argv + std::min(argc, 1), argv + argc});
  } catch (const std::exception& error) {
    vramscope::say(error.what());
    return vramscope::kBadInput;
  }
}
