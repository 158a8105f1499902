// Unknown collects what a report has and this version does not know: fields, and words such as a
// new kind of memory. They are shown, so that nobody mistakes the rest for the whole.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vramscope {

// Threads: one.
class Unknown {
 public:
  // Notes a field: "later". put_at() adds its position later.
  void field(const std::string& path) { note(path, ""); }
  // Notes a word of a set that may grow. The list's element with the word is left out.
  void word(const std::string& path, std::string_view word) {
    note(path, word);
    leave_out_ = true;
  }
  // Returns whether the element that was just read must be left out.
  [[nodiscard]] bool leave_out() { return std::exchange(leave_out_, false); }

  // Returns whether anything was found since the last call of put_at().
  [[nodiscard]] bool found() const { return !here_.empty(); }
  // Sets the position of what was found since: the element at `place`, "devices[0].segments[3]", or
  // "".
  void put_at(const std::string& place);

  // Returns "devices[].segments[].later", each name once; if they are very many, only the first
  // ones.
  [[nodiscard]] std::vector<std::string> names() && { return {names_.begin(), names_.end()}; }

 private:
  void note(const std::string& path, std::string_view word);

  std::set<std::string> here_;   // relative to the element being read
  std::set<std::string> names_;  // relative to the report
  bool leave_out_ = false;
};

}  // namespace vramscope
