// vramscope completion and vramscope manual: what shells and man are told of the command line.
// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "reporter/report/commit.h"
#include "reporter/view/command/verb.h"
#include "reporter/view/text/completion_text.h"
#include "reporter/view/text/manual_text.h"

namespace vramscope {
namespace {

constexpr const char* kShells = "bash, zsh or fish";
constexpr const char* kPages = "1 or 7";

// Whether the word is one of those of the sentence.
WhyNot one_of(const char* sentence) {
  return [sentence](const std::string& given) -> std::string {
    for (const std::string& choice : choices_in(sentence)) {
      if (choice == given) return "";
    }
    return "'" + given + "' is not " + sentence;
  };
}

int print_completion(const CommandLine& line, const std::string& shell) {
  const std::vector<VerbDescription> verbs = line.described();
  if (shell == "bash") return publish({}, bash_completion(verbs));
  if (shell == "zsh") return publish({}, zsh_completion(verbs));
  return publish({}, fish_completion(verbs));
}

int print_manual(const CommandLine& line, const std::string& page) {
  const ManualEdition edition{.version = VRAMSCOPE_VERSION, .date = std::string(commit_date())};
  const bool of_library = page == "7";
  return publish({}, of_library ? library_manual(edition) : tool_manual(line.described(), edition));
}

}  // namespace

Verb add_completion(CommandLine& line) {
  auto shell = std::make_shared<std::string>();
  Command& command = line.add_verb("completion", "Print a shell completion script for vramscope");
  command.positional("SHELL", shell.get(), kShells, one_of(kShells));
  command.footer(
      "An installation puts the script where shells look for it.\n"
      "Examples:\n"
      "  eval \"$(vramscope completion bash)\"         in ~/.bashrc\n"
      "  vramscope completion fish | source          in fish");
  return {.command = &command, .act = [&line, shell] { return print_completion(line, *shell); }};
}

Verb add_manual(CommandLine& line) {
  auto page = std::make_shared<std::string>("1");
  Command& command = line.add_verb("manual", "Print the manual page for man");
  command.option("--section", page.get(), "Choose 1 (the tool) or 7 (the library's variables)",
                 {.value_name = "N",
                  .why_not = one_of(kPages),
                  .shows_default = true,
                  .choices = choices_in(kPages)});
  command.footer(
      "An installation puts the page where man looks for it.\n"
      "Example:\n"
      "  vramscope manual | man -l -");
  return {.command = &command, .act = [&line, page] { return print_manual(line, *page); }};
}

}  // namespace vramscope
