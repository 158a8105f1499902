// Turns positions in a report into names that are equal for all elements of a list.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/unknown.h"

namespace vramscope {

namespace {

constexpr std::size_t kMostNames = 32;     // a file may have millions
constexpr std::size_t kLongestName = 200;  // and long ones

// "devices[12].name" becomes "devices[].name".
std::string without_numbers(std::string_view path) {
  std::string result;
  bool inside = false;
  for (const char letter : path) {
    if (letter == ']') inside = false;
    if (!inside) result += letter;
    if (letter == '[') inside = true;
  }
  return result;
}

}  // namespace

void Unknown::note(const std::string& path, std::string_view word) {
  if (here_.size() >= kMostNames) return;
  std::string name = without_numbers(path).substr(0, kLongestName);
  if (!word.empty()) name.append(" '").append(word.substr(0, kLongestName)).append("'");
  here_.insert(std::move(name));
}

void Unknown::put_at(const std::string& place) {
  const std::string before = place.empty() ? "" : without_numbers(place) + ".";
  for (const std::string& name : here_) {
    if (names_.size() < kMostNames) names_.insert(before + name);
  }
  here_.clear();
}

}  // namespace vramscope
