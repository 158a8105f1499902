// Says when an instant was.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/instant_text.h"

#include <algorithm>

namespace vramscope {
namespace {

constexpr std::size_t kNamed = 6;  // marks

std::string known_marks(const std::vector<std::string>& names) {
  if (names.empty()) return "none";
  std::string text;
  for (std::size_t i = 0; i < std::min(kNamed, names.size()); ++i) {
    text += (i == 0 ? "" : ", ") + harmless(names[i]);
  }
  const std::size_t more = names.size() - std::min(kNamed, names.size());
  return more == 0 ? text : text + " and " + std::to_string(more) + " more";
}

}  // namespace

std::string instant_text(const AskedInstant& instant, const Page& page) {
  if (instant.is_end) return "at the end";
  if (instant.mark.empty()) return "at " + duration_text(instant.at_ns);
  return printable(mark_text(instant), page) + ", after " + duration_text(instant.at_ns);
}

std::string mark_text(const AskedInstant& instant) {
  std::string text = instant.is_range ? "before the first allocation in range " : "at mark ";
  text += harmless(instant.mark);
  if (instant.repetitions < 2) return text;
  return text + " (" + std::to_string(instant.repetition) + " of " +
         std::to_string(instant.repetitions) + ")";
}

std::string instant_problem(const AskedInstant& instant, std::string_view option,
                            std::uint64_t length_ns) {
  const std::string mark = "'" + harmless(instant.mark) + "'";
  switch (instant.state) {
    case AskedInstant::State::found:
      return "";
    case AskedInstant::State::after_end:
      return "ends after " + duration_text(length_ns) + ", before " + std::string(option) + " " +
             duration_text(instant.at_ns);
    case AskedInstant::State::range:
    case AskedInstant::State::unused_range:
      return "has no allocation in range " + mark + ", by which its time would be known; " +
             std::string(option) + " also takes a mark, end, or a time such as 1.5s";
    case AskedInstant::State::no_mark:
      return "has no mark or range " + mark + "; marks: " + known_marks(instant.known) + "; " +
             std::string(option) + " also takes end, or a time such as 1.5s";
    case AskedInstant::State::too_few:
      if (instant.is_range) {
        return "has no range " + mark + " number " + std::to_string(instant.repetition) +
               "; the program entered it and allocated memory " + times_text(instant.repetitions);
      }
      return "has no mark " + mark + " number " + std::to_string(instant.repetition) +
             "; the program set it " + times_text(instant.repetitions);
    case AskedInstant::State::not_recorded:
      return "does not have the time of this mark " + mark +
             ", only of the first 512 marks and of " +
             "evenly spread later ones; the last known one is " + mark + "#" +
             std::to_string(instant.repetition);
  }
  return "";
}

std::string no_instant_or_mark(const std::string& given) {
  return given.empty() ? "expected a time such as 1.5s, the name of a mark or range, or end" : "";
}

}  // namespace vramscope
