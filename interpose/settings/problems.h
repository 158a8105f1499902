// Problems collects what is wrong with settings, of which an environment may have megabytes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vramscope {

// As much of a text from outside as a line names.
[[nodiscard]] inline std::string shown(std::string_view text) {
  constexpr std::size_t kMost = 200;
  std::string result(text.substr(0, kMost));
  if (text.size() > kMost) result += "...";
  return result;
}
// A longer name is no misspelt one, and comparing it takes time.
inline constexpr std::size_t kLongestMisspelt = 100;

// Threads: one. Throws nothing but bad_alloc.
class Problems {
 public:
  // `line` makes the line, and is not called when there are enough.
  template <class Line>
  void add(Line&& line) {
    constexpr std::size_t kMost = 20;
    if (lines_.size() < kMost) {
      lines_.push_back(line());
    } else {
      ++left_out_;
    }
  }

  // One line each, no newline; the last may say how many more there are.
  [[nodiscard]] std::vector<std::string> lines() && {
    if (left_out_ != 0) lines_.push_back(std::to_string(left_out_) + " more settings ignored");
    return std::move(lines_);
  }

 private:
  std::vector<std::string> lines_;
  std::size_t left_out_ = 0;
};

}  // namespace vramscope
