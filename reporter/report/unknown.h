// Unknown collects what a report has and this version does not know: fields, and words such as a
// kind of memory that came later. It is shown, so that nobody takes what is left for the whole.
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
  // A field: "later". Its place is put before it as soon as that is known.
  void field(const std::string& path) { note(path, ""); }
  // A word where only certain words have a meaning. The element of a list that has it is left out.
  void word(const std::string& path, std::string_view word) {
    note(path, word);
    leave_out_ = true;
  }
  // Whether the element that was just read has to be left out.
  [[nodiscard]] bool leave_out() { return std::exchange(leave_out_, false); }

  // Whether anything was found since the last call of put_at.
  [[nodiscard]] bool found() const { return !here_.empty(); }
  // What was found since is in the element at `place`: "devices[0].segments[3]", or "".
  void put_at(const std::string& place);

  // "devices[].segments[].later", each once; of very many the first.
  [[nodiscard]] std::vector<std::string> names() && { return {names_.begin(), names_.end()}; }

 private:
  void note(const std::string& path, std::string_view word);

  std::set<std::string> here_;   // relative to the element being read
  std::set<std::string> names_;  // relative to the report
  bool leave_out_ = false;
};

}  // namespace vramscope
