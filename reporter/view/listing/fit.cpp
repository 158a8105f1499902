// Decides what goes.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/listing/fit.h"

#include <algorithm>
#include <cstdint>

namespace vramscope {
namespace {

constexpr std::size_t kFewerRows[] = {ScreenRoom::kUsual, 16, 12, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1};
// What repeats something goes before any row; bars before the largest rows do.
struct Briefer {
  Brevity brevity;
  std::size_t least;  // rows
};
constexpr Briefer kBriefer[] = {{Brevity::no_details, ScreenRoom::kUsual},
                                {Brevity::no_repeats, 6},
                                {Brevity::no_bars, 4},
                                {Brevity::least, 1}};

std::string left_out_text(std::size_t lines, std::size_t usual, const Page& page) {
  return paragraph("and " + counted(lines, "line") + " for which the terminal has no room: -n " +
                       std::to_string(usual) + " shows all",
                   page);
}

// The first in which the document fits, of those that have ever less; else the one that has least.
ScreenRoom room_for(const Document& document, const Page& page, std::size_t lines) {
  const DocumentSize size(document, page);
  ScreenRoom room;
  for (const auto& [brevity, least] : kBriefer) {
    for (const std::size_t rows : kFewerRows) {
      if (rows < least) continue;
      room = {.brevity = brevity, .rows = rows};
      if (size.lines(room) <= lines) return room;
    }
  }
  return room;
}

}  // namespace

std::string fitted(const Document& document, const Page& page, std::size_t reserved,
                   std::size_t usual) {
  std::string whole = render(document, page);
  const std::size_t all = line_count(whole);
  const bool is_asked_for = page.stacks != Stacks::in_rows;  // whole stacks take what they take
  if (page.lines == 0 || is_asked_for || all + reserved <= page.lines) return whole;
  const std::size_t note = line_count(left_out_text(all, usual, page));
  const std::size_t taken = reserved + note;
  const ScreenRoom room = room_for(document, page, page.lines - std::min(page.lines, taken));
  bool is_worth_it = true;
  const auto note_of = [&](std::size_t shown) {
    const std::size_t left_out = all - std::min(all, shown);
    is_worth_it = left_out > note;
    return left_out_text(left_out, usual, page);
  };
  std::string text = render(document, page, room, note_of);
  return is_worth_it ? text : whole;
}

}  // namespace vramscope
