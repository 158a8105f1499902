// The functions here write numbers, tables and names as a person reads them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reporter/view/analysis/filter/typed_options.h"
#include "reporter/view/analysis/stacks/stacks_shown.h"
#include "reporter/view/words/quantities.h"

namespace vramscope {

// Where text goes: how wide it may be and what may be drawn there.
struct Page {
  std::size_t width = 100;  // columns
  bool unicode = false;     // beyond ASCII
  bool colour = false;      // terminal escapes
  bool cuts = true;         // longer lines; false: only drawings and paragraphs keep to the width
  Stacks stacks = Stacks::in_rows;
  bool of_trace = false;      // what is shown is made of a trace
  TypedOptions filters = {};  // of what is shown; next_command() repeats them
  std::size_t lines = 0;      // that a screen has, for verbs that keep to one; 0: there is none
};

enum class Colour : std::uint8_t { bold, dim, red, yellow };

// The text between the escapes of a colour, or as it is on a page without colour.
[[nodiscard]] std::string coloured(std::string_view text, Colour colour, const Page& page);

// "  and 7 more rows", a line; "" of none.
[[nodiscard]] std::string and_more(std::uint64_t count, std::string_view noun);

// `cells` columns of which part/whole are filled; a part above nothing fills at least one.
[[nodiscard]] std::string bar(std::uint64_t part, std::uint64_t whole, std::size_t cells,
                              const Page& page);

// Text from a file, safe to print: control characters and broken UTF-8 (without unicode,
// everything beyond ASCII but the sign of times, 'x') become '?'.
[[nodiscard]] std::string printable(std::string_view text, const Page& page);

// Columns of a terminal that printable text takes: two for a wide letter, none for a mark that
// combines with the one before.
[[nodiscard]] std::size_t columns(std::string_view text);

// At most `width` columns; a longer text ends in "..".
[[nodiscard]] std::string fitted(std::string_view text, std::size_t width);

// The same at the page's edge, where the page cuts.
[[nodiscard]] std::string fitted(std::string_view text, const Page& page);

// At most `width` columns; of a longer text both ends, with ".." between them.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t width);

// Broken at spaces into lines of at most `width` columns where words allow.
[[nodiscard]] std::string wrapped(std::string_view text, std::size_t width);

// The text indented, over as many lines as it needs where the page cuts; those after the first are
// indented by two more. Ends with a newline.
[[nodiscard]] std::string paragraph(std::string_view text, const Page& page,
                                    std::size_t indent = 2);

// The same in a colour.
[[nodiscard]] std::string paragraph(std::string_view text, Colour colour, const Page& page,
                                    std::size_t indent = 2);

// The same with nothing before its first line; those after it are indented by two.
[[nodiscard]] std::string sentence(std::string_view text, const Page& page);
[[nodiscard]] std::string sentence(std::string_view text, Colour colour, const Page& page);

// As a shell reads it back: quoted only if needed.
[[nodiscard]] std::string shell_word(std::string_view text);

// The same for a path, on a page that may be without the path's letters: a shell of today reads it.
[[nodiscard]] std::string shell_path(std::string_view path, const Page& page);

// Those of the page's filters that the verb can answer of the same file: "--kind pinned ".
[[nodiscard]] std::string filters_for(std::string_view verb, const Page& page);

// What a part of a text begins with: an empty line and its title.
[[nodiscard]] std::string part_title(std::string_view title, const Page& page);

// The line that an output for a person ends with: "\nNext: vramscope peak r.json\n", with those of
// the page's filters that the next verb can answer of the same file.
[[nodiscard]] std::string next_command(std::string_view words, std::string_view path,
                                       const Page& page);

// "what uncut", with what is never cut on a line of its own where the page has no room for both.
[[nodiscard]] std::string followed_by(const std::string& what, const std::string& uncut,
                                      const Page& page);

// How many of `size` rows a listing shows: the first `most`, or all when `most` is 0.
[[nodiscard]] constexpr std::size_t rows_shown(std::size_t size, std::size_t most) {
  return most == 0 || size < most ? size : most;
}

// "make (a.cpp:1) < build (b.cpp:2) < main (b.cpp:9)" in at most `width` columns: as many whole
// parts as fit, and then " < ..".
[[nodiscard]] std::string fitted_stack(std::string_view text, std::size_t width);

// A listing. Columns are as wide as their widest cell; the last one has what the others leave, is
// cut at the page's edge, and other columns make room for kLeastRoom of it.
class Table {
 public:
  enum class Align : std::uint8_t { left, right };
  struct Column {
    std::string title;
    Align align = Align::left;
    unsigned yields = 0;  // to the last one: who has the largest number first; 0: never
  };
  static constexpr std::size_t kLeastRoom = 40;

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  // A row of the last column alone.
  void add_below(std::string last) {
    rows_.emplace_back(columns_.size());
    rows_.back().back() = std::move(last);
  }
  // A line of its own at the left margin, above the next rows.
  void add_heading(std::string heading) {
    rows_.emplace_back(columns_.size() + 1);
    rows_.back().back() = std::move(heading);
  }
  [[nodiscard]] bool empty() const { return rows_.empty(); }
  // The last column is to have this room, not what its own cells take, at most kLeastRoom.
  void keep_room(std::size_t least) { kept_room_ = std::min(least, kLeastRoom); }
  // What becomes of the last column where the others leave it less than it is to have: it is cut
  // beside them, or stands on a line of its own below each row. `below_all`: so before one of the
  // others is left out. `whole`: so wherever a cell would be cut, and it never is. `wrapped`: it
  // goes on over several lines.
  enum class Last : std::uint8_t { beside, below, below_all, whole, wrapped };
  void place_last(Last last) { last_ = last; }
  // Columns of the page that the last one has; kUncut where nothing is cut.
  static constexpr std::size_t kUncut = std::size_t{1} << 20;
  [[nodiscard]] std::size_t room(const Page& page) const;
  // Of rows that were added without them: the last cells, as they are in the room that the other
  // columns leave them. `cells_in` gives one for each row, printable or not.
  void fill_last(const Page& page,
                 const std::function<std::vector<std::string>(std::size_t room)>& cells_in);
  // Each line indented by two spaces; titles first. `below` gives what stands below a row.
  [[nodiscard]] std::string text(
      const Page& page, const std::function<std::string(std::size_t row)>& below = {}) const;
  // Of the columns that text() has.
  [[nodiscard]] std::vector<std::string> titles(const Page& page) const;
  // Which columns text() left out, as a line; "" none.
  [[nodiscard]] std::string left_out(const Page& page) const;

 private:
  struct Layout {
    std::vector<bool> shown;
    std::size_t indent = 2;
    std::size_t room = 0;  // of the last column
    bool below = false;    // where that stands
  };
  [[nodiscard]] std::vector<std::size_t> widths() const;
  [[nodiscard]] std::size_t make_room(const std::vector<std::size_t>& wide, std::size_t width,
                                      std::size_t wanted, std::vector<bool>& shown) const;
  [[nodiscard]] Layout layout(const Page& page) const;
  [[nodiscard]] std::string last_cell(std::string_view cell, std::size_t room,
                                      std::size_t margin) const;
  [[nodiscard]] std::string line(const std::vector<std::string>& cells,
                                 const std::vector<std::size_t>& wide, const Layout& layout) const;
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
  std::optional<std::size_t> kept_room_;
  Last last_ = Last::beside;
};

}  // namespace vramscope
