// Says what marks mean.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/timeline_marks.h"

#include <algorithm>
#include <tuple>

namespace vramscope {
namespace {

std::string when_text(const RunMark& mark) {
  return duration_text(mark.at_ns) +
         (mark.until_ns == 0 ? "" : " to " + duration_text(mark.until_ns));
}

// ", 800 ms after its process began", as peak and oom of the merged report tell it.
std::string own_time_text(const RunMark& mark) {
  if (!mark.process_ns || *mark.process_ns == mark.at_ns) return "";
  return ", " + duration_text(*mark.process_ns) + " after its process began";
}

}  // namespace

std::vector<RunMark> told_marks(std::vector<RunMark> marks, std::size_t most) {
  const auto rank = [](const RunMark& mark) {
    return std::tuple(mark.what == RunMark::What::ended, mark.what != RunMark::What::peak,
                      mark.bytes, mark.is_of_all_kinds);
  };
  std::stable_sort(marks.begin(), marks.end(),
                   [&](const RunMark& a, const RunMark& b) { return rank(a) > rank(b); });
  marks.resize(std::min(most, marks.size()));
  std::stable_sort(marks.begin(), marks.end(),
                   [](const RunMark& a, const RunMark& b) { return a.at_ns < b.at_ns; });
  return marks;
}

char sign_of(const RunMark& mark) {
  switch (mark.what) {
    case RunMark::What::peak:
      return '^';
    case RunMark::What::refused:
      return '!';
    case RunMark::What::reset:
      return 'x';
    case RunMark::What::ended:
      return 'X';
  }
  return '?';
}

std::string mark_text(const RunMark& mark, const Page& page) {
  const std::string when = std::string(1, sign_of(mark)) + " " + when_text(mark) + ": ";
  const std::string memory = whose_memory(mark);
  switch (mark.what) {
    case RunMark::What::peak:
      return when + "peak of " + memory + (mark.is_bound ? ", at most " : ", ") +
             amount_text(mark.bytes);
    case RunMark::What::refused:
      return when + (mark.bytes == 0 ? "an allocation" : amount_text(mark.bytes)) + " of " +
             memory + " refused" + (mark.text.empty() ? "" : ", " + printable(mark.text, page)) +
             own_time_text(mark);
    case RunMark::What::reset:
      return when + printable(mark.text, page) + " ended all memory of a context";
    case RunMark::What::ended:
      return when + printable(mark.text, page) + own_time_text(mark);
  }
  return when;
}

}  // namespace vramscope
