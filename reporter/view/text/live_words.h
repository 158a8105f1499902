// The words of `vramscope live`: titles, keys, help.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "reporter/view/text/live_view.h"

namespace vramscope {

struct LiveGroupWord {
  std::string_view tab;
  const char* title;  // of the column
};
[[nodiscard]] constexpr LiveGroupWord word_of(LiveGroup group) {
  switch (group) {
    case LiveGroup::owners:
      return {"Owners", "OWNER"};
    case LiveGroup::ranges:
      return {"Ranges", "RANGE"};
    case LiveGroup::threads:
      return {"Threads", "THREAD"};
    case LiveGroup::sites:
      break;
  }
  return {"Call sites", "WHERE"};
}

[[nodiscard]] constexpr std::string_view word_of(LiveSort sort) {
  switch (sort) {
    case LiveSort::growth:
      return "growth";
    case LiveSort::blocks:
      return "live blocks";
    case LiveSort::calls:
      return "allocations";
    case LiveSort::live:
      break;
  }
  return "live bytes";
}

inline constexpr std::string_view kChangingRow = "(allocated or freed while this was read)";
inline constexpr std::string_view kUnsampledRow = "(calls without a stack: not sampled)";

inline constexpr std::string_view kLiveKeys =
    "g group  m mark  s sort  / filter  f find  space pause  r report  ? help  q quit";

struct LiveKeyHelp {
  std::string_view key, does;
};
inline constexpr LiveKeyHelp kLiveHelp[] = {
    {"g, Tab", "next group: call sites, owners, ranges, threads; 1 to 4 choose one"},
    {"m", "set a mark; SINCE MARK shows what has grown since then"},
    {"M", "remove the mark"},
    {"s", "sort by live bytes, growth, live blocks or allocations"},
    {"/", "show only rows that contain a text; an empty one shows all"},
    {"f", "find the next row that contains a text; n finds the next one again"},
    {"space", "pause: the figures stay as they are until space is pressed again"},
    {"up, down", "move by a row; PageUp, PageDown, Home, End"},
    {"r", "make the program write a report, as vramscope snapshot does"},
    {"?", "this help"},
    {"q", "quit; the program goes on"},
    {"", ""},
    {"bar", "# live   = cached: freed or rounded up   + contexts and code   x others"},
};

}  // namespace vramscope
