// Reads suppression files and looks for their patterns in call stacks.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/leaks/suppressions.h"

#include <algorithm>
#include <utility>

#include "reporter/report/files/input_file.h"
#include "reporter/report/report.h"
#include "reporter/view/analysis/leaks/site_owner.h"
#include "reporter/view/analysis/leaks/usual_suppressions.h"
#include "reporter/view/words/quantities.h"

namespace vramscope {
namespace {

constexpr std::string_view kBlanks = " \t\r\f\v";
constexpr std::size_t kMostOfSuppressions = std::size_t{16} << 20;  // of a file
constexpr std::size_t kMostQuoted = 60;                             // of a line, in a complaint

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

std::string_view take_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(text.size(), line.size() + 1));
  return line;
}

// The pattern of a line; nothing: it has another form.
std::optional<std::string_view> pattern_of(std::string_view line) {
  constexpr std::string_view kType = "leak:";
  if (!line.starts_with(kType) || line.find('\0') != line.npos) return std::nullopt;
  const std::string_view pattern = trimmed(line.substr(kType.size()));
  return pattern.empty() ? std::nullopt : std::optional(pattern);
}

std::string quoted(std::string_view line) {
  std::string text = "'" + harmless(line.substr(0, kMostQuoted));
  return text + (line.size() > kMostQuoted ? "..'" : "'");
}

// Whether the parts of `pattern` between its asterisks follow each other in `text`. Taking each as
// far to the left as it goes leaves most to the others.
bool parts_follow(std::string_view pattern, std::string_view text, bool at_end) {
  while (true) {
    const std::size_t star = pattern.find('*');
    const std::string_view part = pattern.substr(0, star);
    if (star == pattern.npos && at_end) return text.ends_with(part);
    const std::size_t found = text.find(part);
    if (found == text.npos) return false;
    if (star == pattern.npos) return true;
    text.remove_prefix(found + part.size());
    pattern.remove_prefix(star + 1);
  }
}

std::string anything(std::string_view) { return {}; }

// Of the usual ones those that name a shared object.
bool is_of_library(const Suppression& row) { return row.is_usual && row.pattern.starts_with('/'); }

}  // namespace

bool pattern_matches(std::string_view pattern, std::string_view text) {
  if (text.empty()) return false;
  const bool at_begin = pattern.starts_with('^');
  if (at_begin) pattern.remove_prefix(1);
  const bool at_end = pattern.ends_with('$');
  if (at_end) pattern.remove_suffix(1);
  if (at_begin) {
    const std::string_view first = pattern.substr(0, pattern.find('*'));
    if (!text.starts_with(first)) return false;
    if (first.size() == pattern.size()) return !at_end || text.size() == first.size();
    text.remove_prefix(first.size());
    pattern.remove_prefix(first.size() + 1);
  }
  return parts_follow(pattern, text, at_end);
}

std::string Suppressions::add(std::string_view text, const std::string& source) {
  std::vector<Suppression> read;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = trimmed(take_line(text));
    if (line.empty() || line.starts_with('#')) continue;
    const std::optional<std::string_view> pattern = pattern_of(line);
    if (!pattern) {
      return source + ":" + std::to_string(number) + ": expected leak:PATTERN, found " +
             quoted(line);
    }
    read.push_back({.pattern = std::string(*pattern), .source = source, .line = number});
  }
  rows_.insert(rows_.end(), std::make_move_iterator(read.begin()),
               std::make_move_iterator(read.end()));
  return {};
}

std::string Suppressions::add_file(const std::string& path) {
  const InputFile file = read_file(path, {.noun = "a suppression file",
                                          .most_bytes = kMostOfSuppressions,
                                          .wrong_beginning = anything});
  return file.problem.empty() ? add(file.text, path) : path + ": " + file.problem;
}

void Suppressions::add_usual() {
  const std::size_t before = rows_.size();
  static_cast<void>(add(kUsualSuppressions, "usual.suppressions"));  // a test reads it
  for (std::size_t i = before; i < rows_.size(); ++i) rows_[i].is_usual = true;
}

bool Suppressions::have_usual() const {
  return std::any_of(rows_.begin(), rows_.end(), [](const auto& row) { return row.is_usual; });
}

std::optional<std::size_t> Suppressions::first_in(const std::vector<std::string>& texts) const {
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    for (const std::string& text : texts) {
      if (pattern_matches(rows_[row].pattern, text)) return row;
    }
  }
  return std::nullopt;
}

std::vector<std::string> texts_of_frame(const Report& report, const FrameFact& frame,
                                        const NameFrame& name) {
  std::vector<std::string> texts;
  if (name) {
    for (const SourceFrame& named : name(report, frame)) {
      texts.push_back(named.function);
      texts.push_back(named.file);
    }
  }
  if (frame.module < report.modules.size()) texts.push_back(report.modules[frame.module].path);
  return texts;
}

std::optional<std::size_t> SuppressedStacks::of_frame(std::uint32_t index) {
  if (index >= report_.frames.size()) return std::nullopt;
  known_.resize(report_.frames.size());
  Known& known = known_[index];
  if (std::exchange(known.looked_up, true)) return known.row;
  return known.row = suppressions_.first_in(texts_of_frame(report_, report_.frames[index], name_));
}

std::optional<std::size_t> SuppressedStacks::of(const std::vector<std::uint32_t>& frames) {
  if (suppressions_.rows().empty()) return std::nullopt;
  for (const std::uint32_t frame : frames) {
    const std::optional<std::size_t> row = of_frame(frame);
    if (!row) continue;
    // A library may call back into the program, whose memory is not the library's to keep.
    if (!is_of_library(suppressions_.rows()[*row]) ||
        owner_of_frame(report_, frame) == owner_of_stack(report_, frames)) {
      return row;
    }
  }
  return std::nullopt;
}

}  // namespace vramscope
