// Reads a script's first line, and looks for lines that clear the environment.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/doctor/script.h"

#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "reporter/report/files/input_file.h"

namespace vramscope {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 20;  // of a script
constexpr std::size_t kMostScripts = 4;  // one may be another's interpreter, as Linux has it

std::vector<std::string> first_line(const std::string& path) {
  constexpr std::size_t kMostOfALine = 4096;
  const std::string line = beginning_of(path, kMostOfALine);
  std::vector<std::string> words;
  if (!line.starts_with("#!")) return words;
  std::istringstream rest(line.substr(2, line.find('\n') - 2));
  for (std::string word; rest >> word;) words.push_back(word);
  return words;
}

bool is_env(const std::string& path) { return path.ends_with("/env"); }

// Behind env's own options and settings.
std::string behind_env(const std::vector<std::string>& words) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i][0] != '-' && words[i].find('=') == std::string::npos) return words[i];
  }
  return "";
}

// A line that takes away what preloads us, as far as that can be seen.
void examine_lines(const std::string& path, Findings& findings) {
  static const std::regex clears(
      R"((^|[;&|(\s])(unset\s+(-v\s+)?LD_PRELOAD|(export\s+)?LD_PRELOAD=|env\s+(-\S+\s+)*(-i|-\s|--ignore-environment|-u\s*LD_PRELOAD)|(sudo|su|exec\s+sudo)\s))");
  std::istringstream file(beginning_of(path, kMostBytes));
  std::string line;
  for (std::size_t number = 1; std::getline(file, line); ++number) {
    const std::string text = line.substr(0, 1000);
    if (text.empty() || text[0] == '#' || !std::regex_search(text, clears)) continue;
    return findings.limits(
        "script", path + ":" + std::to_string(number) + " may take LD_PRELOAD from what it starts",
        "start vramscope run in the script, before the program itself");
  }
}

}  // namespace

Executable examine_script(const Executable& script, Findings& findings) {
  Executable program = script;
  for (std::size_t i = 0; i < kMostScripts && !program.elf; ++i) {
    const std::vector<std::string> words = first_line(program.path);
    if (words.empty()) return program;
    examine_lines(program.path, findings);
    std::string name = is_env(words[0]) ? behind_env(words) : words[0];
    Executable found = find_executable(name);
    if (found.path.empty()) {
      findings.stops("script", program.path + ": there is no '" + name + "' to execute it",
                     "install it, or mend the script's first line");
      return found;
    }
    findings.fine("script", program.path + " is executed by " + found.path);
    program = std::move(found);
  }
  return program;
}

}  // namespace vramscope
