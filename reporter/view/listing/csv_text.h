// CsvText writes rows as RFC 4180 has them, but for lines that end in a newline alone.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reporter/view/listing/cell_value.h"

namespace vramscope {

// Control characters of names become '?', as in text, and a text that begins as a spreadsheet's
// formula does has a single quote before it. Threads: one.
class CsvText {
 public:
  // Columns that every row from now on has first.
  using Leading = std::vector<std::pair<std::string, CellValue>>;

  // after_row may take what is in the text away.
  explicit CsvText(std::string& text, std::function<void()> after_row = {})
      : text_(text), after_row_(std::move(after_row)) {}
  void lead(Leading leading) { leading_ = std::move(leading); }
  // A line, unless there was one.
  void titles(const std::vector<std::string>& names);
  void begin();
  CsvText& cell(const CellValue& cell);
  // A text: quoted where it has to be, and never a formula.
  CsvText& word(std::string_view word);
  // Of ours, which needs no quotes.
  CsvText& plain(std::string_view word);
  CsvText& whole(std::uint64_t number);
  void end();

 private:
  Leading leading_;
  std::string& text_;
  std::function<void()> after_row_;
  bool has_titles_ = false;
  bool is_first_ = true;
};

}  // namespace vramscope
