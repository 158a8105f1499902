// Sequences to and from text.
// SPDX-License-Identifier: Apache-2.0
#include "test/differential/sequence.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>

namespace vramscope::differential {
namespace {

[[noreturn]] void refuse(std::size_t number, const std::string& line) {
  throw std::runtime_error("line " + std::to_string(number) + " is no call: " + line);
}

bool read_way(const std::string& word, Way& way) {
  const auto known = std::find(std::begin(kWays), std::end(kWays), word);
  if (word.empty() || known == std::end(kWays)) return false;
  way = static_cast<Way>(known - std::begin(kWays));
  return true;
}

// "t3" or "q1".
bool read_place(const std::string& word, Line& line) {
  if (word.size() < 2 || word.find_first_not_of("0123456789", 1) != word.npos) return false;
  const int number = std::stoi(word.substr(1));
  if (word[0] == 't') line.thread = number;
  if (word[0] == 'q') line.process = number;
  return (word[0] == 't' && number < 16) || (word[0] == 'q' && number > 0 && number < 4);
}

bool read_line(std::istringstream words, Line& line) {
  std::string word;
  if (!(words >> word)) return false;
  line.together = word == "&";
  if (line.together && !(words >> word)) return false;
  if (!read_place(word, line) || !(words >> line.verb)) return false;
  while (words >> word) {
    if (word[0] != '@') {
      line.words.push_back(word);
    } else if (!read_way(word, line.way)) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::string text_of(const Line& line) {
  std::string text = line.together ? "& " : "";
  text +=
      line.process != 0 ? "q" + std::to_string(line.process) : "t" + std::to_string(line.thread);
  text += " " + line.verb;
  for (const std::string& word : line.words) text += " " + word;
  if (line.way != Way::linked) text += " " + std::string(kWays[static_cast<int>(line.way)]);
  return text;
}

std::string text_of(const Sequence& sequence) {
  std::string text;
  for (const std::string& comment : sequence.comments) text += "# " + comment + "\n";
  if (!sequence.simulator.empty()) text += "sim " + sequence.simulator + "\n";
  for (const Line& line : sequence.lines) text += text_of(line) + "\n";
  return text;
}

Sequence read_sequence(std::string_view text) {
  Sequence sequence;
  std::istringstream lines{std::string(text)};
  std::string line;
  for (std::size_t number = 1; std::getline(lines, line); ++number) {
    if (line.empty()) continue;
    if (line[0] == '#') {
      sequence.comments.push_back(line.substr(
          line.find_first_not_of("# ") == line.npos ? line.size() : line.find_first_not_of("# ")));
    } else if (line.starts_with("sim ")) {
      sequence.simulator = line.substr(4);
    } else {
      Line call;
      if (!read_line(std::istringstream(line), call)) refuse(number, line);
      sequence.lines.push_back(std::move(call));
    }
  }
  return sequence;
}

Sequence read_sequence_file(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot open " + path);
  std::ostringstream text;
  text << file.rdbuf();
  return read_sequence(text.str());
}

}  // namespace vramscope::differential
