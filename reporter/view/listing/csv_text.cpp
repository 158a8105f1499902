// Quotes cells.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/listing/csv_text.h"

#include <charconv>

#include "reporter/view/listing/format.h"

namespace vramscope {
namespace {

template <class List, class Text>
std::string joined(const List& list, const char* between, Text text) {
  std::string all;
  for (const auto& one : list) {
    if (&one != &list.front()) all += between;
    all += text(one);
  }
  return all;
}

std::string text_of(const CellValue& cell) {
  if (const bool* truth = std::get_if<bool>(&cell)) return *truth ? "true" : "false";
  if (const auto* whole = std::get_if<std::uint64_t>(&cell)) return std::to_string(*whole);
  if (const auto* value = std::get_if<std::int64_t>(&cell)) return std::to_string(*value);
  if (const auto* word = std::get_if<std::string>(&cell)) return *word;
  if (const auto* stack = std::get_if<CellStack>(&cell)) {
    return joined(*stack, " < ", [](const std::string& frame) { return frame; });
  }
  if (const auto* numbers = std::get_if<CellNumbers>(&cell)) {
    return joined(*numbers, " ", [](std::uint64_t one) { return std::to_string(one); });
  }
  return "";
}

}  // namespace

void CsvText::titles(const std::vector<std::string>& names) {
  if (has_titles_) return;
  has_titles_ = true;
  is_first_ = true;
  for (const auto& [name, cell] : leading_) plain(name);
  for (const std::string& name : names) plain(name);
  end();
}

void CsvText::end() {
  text_ += '\n';
  if (after_row_) after_row_();
}

void CsvText::begin() {
  is_first_ = true;
  for (const auto& [name, value] : leading_) cell(value);
}

CsvText& CsvText::cell(const CellValue& cell) {
  return is_number(cell) ? plain(text_of(cell)) : word(text_of(cell));
}

// Traces are listed by the million: no string is made of a number.
CsvText& CsvText::whole(std::uint64_t number) {
  char digits[20];
  return plain({digits, std::to_chars(digits, digits + sizeof digits, number).ptr});
}

CsvText& CsvText::plain(std::string_view word) {
  if (!is_first_) text_ += ',';
  is_first_ = false;
  text_ += word;
  return *this;
}

// A spreadsheet takes a cell that begins so for a formula, and executes it (OWASP, CSV injection; a
// tab or carriage return is '?' by then). The quote has it read as text.
CsvText& CsvText::word(std::string_view word) {
  constexpr std::string_view kFormulas = "=+-@";
  std::string safe = harmless(word);
  if (safe.find_first_of(kFormulas) == 0) safe.insert(0, 1, '\'');
  if (safe.find_first_of(",\"") == std::string::npos) return plain(safe);
  plain("\"");
  for (const char c : safe) text_.append(c == '"' ? 2 : 1, c);
  text_ += '"';
  return *this;
}

}  // namespace vramscope
