// SiteListing is a listing whose last column says where memory was allocated: as much of each call
// stack as the page has room for, or whole stacks below their rows.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "reporter/view/analysis/stacks/frames.h"
#include "reporter/view/listing/document.h"
#include "reporter/view/listing/format.h"

namespace vramscope {

struct Report;

// A row shows at most so many frames.
inline constexpr std::size_t kFramesInRow = 8;
// Of a stack: as many as a row has, and a front that it leaves out.
inline constexpr std::size_t kFramesLookedAt = 4 * kFramesInRow;

// "make (a.cpp:1) < build (b.cpp:2) < .." in at most `room` columns where the innermost frame's
// place allows it. `most`: frames.
[[nodiscard]] std::string stack_text(const CallSite& site, std::size_t room,
                                     std::size_t most = kFramesInRow);

// The whole of it, of a site of the report; "unknown" of -1.
[[nodiscard]] std::string where_text(const Report& report, std::int64_t site, const NameFrame& name,
                                     const Page& page, std::size_t most = kFramesInRow);

// What the texts of stacks are to show beside their innermost frames.
struct StacksShown {
  std::function<bool(const Caller&)> is_wanted = {};  // the first such frame is shown
  std::vector<CallSite> beside = {};                  // without texts; they tell helpers as rows do
};

struct StackText {
  std::string text;
  std::size_t front = 0;    // the frame that it begins with
  std::size_t told_by = 0;  // the frame that tells the row from others; `front`: that, or none
};

// One text for each stack, at most `room` columns. Inner frames are left out, recursion is folded,
// and depths count in folded() stacks. Frames of the standard library and of wrappers are left out
// at the front, unless they are all that tells two stacks apart, or such a frame is wanted. Stacks
// that read alike are told apart by the first frame that differs: "make (a.cpp:1) < .. < load
// (c.cpp:7)"; `whole` gives all frames of one. Of those that begin in one function the first caller
// is shown that is another function's.
[[nodiscard]] std::vector<StackText> stack_texts(const std::vector<CallSite>& sites,
                                                 std::size_t room,
                                                 const std::function<CallSite(std::size_t)>& whole,
                                                 const StacksShown& shown = {});

// The same of whole stacks that listings have named already.
[[nodiscard]] std::vector<std::string> stack_texts(const std::vector<SharedCallers>& stacks,
                                                   std::size_t room,
                                                   const std::vector<SharedCallers>& beside = {});

// Every frame with types, path and line, indented by `indent`; ends with a newline.
[[nodiscard]] std::string whole_stack_text(const CallSite& site, const Page& page,
                                           std::size_t indent);

// Threads: one.
class SiteListing {
 public:
  enum class Calls : bool { hidden, shown };  // whether the CUDA function has a column of its own

  // columns: the last one's title is that of the stacks.
  SiteListing(const Report& report, const NameFrame& name, std::vector<Table::Column> columns,
              Calls calls = Calls::hidden);
  // cells: of all columns but the last. site: index into the report's; -1: unknown.
  void add(std::vector<std::string> cells, std::int64_t site);
  // Below all rows so far; above the next.
  void add_heading(std::string text);
  [[nodiscard]] bool empty() const { return rows_.empty(); }
  // Rows, and then the names of the columns for which there was no room.
  [[nodiscard]] std::string text(const Page& page) const { return drawn(page).text; }
  struct Drawn {
    std::string text;
    std::vector<std::string> titles = {};  // of the columns that are there
    std::size_t widest = 0;                // columns of the longest stack, uncut
  };
  enum class SourceLines : bool { hidden, shown };  // below the rows that they tell apart
  [[nodiscard]] Drawn drawn(const Page& page, SourceLines lines = SourceLines::shown) const;
  // Lines that drawn() has without those of source, of Calls::hidden, as far as they are known
  // without naming a frame. widest: of the stacks.
  [[nodiscard]] std::size_t lines(const Page& page, std::size_t widest) const;

 private:
  struct Row {
    std::vector<std::string> cells;
    std::int64_t site = -1;
    std::optional<std::string> heading = {};
  };
  [[nodiscard]] CallSite call_site_of(std::size_t row, std::size_t most) const;
  [[nodiscard]] CallSite folded_site_of(std::size_t row) const;
  [[nodiscard]] Table table_of(const std::vector<std::string>& last,
                               const std::vector<CallSite>* calls,
                               const std::vector<std::string>& below) const;
  [[nodiscard]] std::vector<std::string> source_lines(const std::vector<const Caller*>& tellers,
                                                      const Page& page) const;
  [[nodiscard]] std::vector<CallSite> sites_beside() const;
  [[nodiscard]] Drawn in_rows(const Page& page, SourceLines lines) const;
  [[nodiscard]] Drawn in_full(const Page& page) const;

  const Report& report_;
  NameFrame name_;
  std::vector<Table::Column> columns_;
  Calls calls_;
  std::vector<Row> rows_;
};

// All of its rows; of none no block.
void add_listing(Document& text, SiteListing listing, const Page& page);

// Call sites of which a screen may show fewer.
struct ListedSites {
  std::size_t all = 0;
  std::function<SiteListing(std::size_t shown)> listing;  // of the first ones
  // What stands above and below so many: whole lines.
  std::function<std::string(std::size_t shown)> above = {};
  std::function<std::string(std::size_t shown)> below = {};
  std::function<std::size_t(const ScreenRoom&)> most;  // how many a room has; 0: all
};
// What the functions refer to outlives it.
[[nodiscard]] RowsBlock rows_of(ListedSites sites, const Page& page);

}  // namespace vramscope
