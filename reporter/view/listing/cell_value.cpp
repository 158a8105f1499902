// Compares what rows are sorted by.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/listing/cell_value.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace vramscope {
namespace {

// CellNumbers of both signs in one order.
std::pair<bool, std::uint64_t> rank(const CellValue& cell) {
  if (const bool* truth = std::get_if<bool>(&cell)) return {true, *truth ? 1 : 0};
  if (const auto* whole = std::get_if<std::uint64_t>(&cell)) return {true, *whole};
  const std::int64_t value = std::get<std::int64_t>(cell);
  return {value >= 0, static_cast<std::uint64_t>(value)};  // below 0 the smaller wraps lower
}

// A word of digits: a size class.
bool is_written_number(const CellValue& cell) {
  const auto* word = std::get_if<std::string>(&cell);
  return word != nullptr && !word->empty() && word->find_first_not_of("0123456789") == word->npos;
}

bool is_unknown(const CellValue& cell) { return std::holds_alternative<std::monostate>(cell); }

}  // namespace

bool is_number(const CellValue& cell) {
  return std::holds_alternative<bool>(cell) || std::holds_alternative<std::int64_t>(cell) ||
         std::holds_alternative<std::uint64_t>(cell);
}

bool is_less(const CellValue& a, const CellValue& b) {
  if (is_number(a) && is_number(b)) return rank(a) < rank(b);
  if (is_written_number(a) && is_written_number(b)) {
    const auto& first = std::get<std::string>(a);
    const auto& second = std::get<std::string>(b);
    return std::pair(first.size(), first) < std::pair(second.size(), second);
  }
  return a < b;  // of one column: of one type
}

std::string_view RowChoice::column() const {
  const std::string_view all = sort;
  return all.starts_with('+') || all.starts_with('-') ? all.substr(1) : all;
}

namespace {

// What the titles of texts are called in CSV; the first that a listing has.
constexpr struct {
  std::string_view title;
  std::string_view name;
} kTitles[] = {
    {"now", "live_bytes"},    {"now", "current_bytes"},       {"at peak", "peak_bytes"},
    {"peak", "peak_bytes"},   {"own peak", "own_peak_bytes"}, {"requested", "bytes"},
    {"total", "total_bytes"}, {"count", "total_count"},       {"count", "live_count"},
    {"time", "total_ns"},     {"temp", "temporary_count"},    {"grew", "growth_intervals"},
    {"ended", "ended_by"},    {"program", "executable"},      {"host", "hostname"}};

}  // namespace

bool RowChoice::is_by(std::string_view name, const std::vector<std::string>& names) const {
  const auto has = [&](std::string_view one) {
    return std::find(names.begin(), names.end(), one) != names.end();
  };
  std::string asked(column());
  if (has(asked)) return name == asked;
  for (char& letter : asked) {
    const bool is_capital = letter >= 'A' && letter <= 'Z';
    letter = letter == '-' ? ' ' : is_capital ? static_cast<char>(letter - 'A' + 'a') : letter;
  }
  if (has(asked)) return name == asked;
  for (const auto& [title, called] : kTitles) {
    if (title == asked && has(called)) return name == called;
  }
  return false;
}

void RowChoice::refuse_unless(const std::vector<std::vector<std::string>>& tables) const {
  if (sort.empty()) return;
  std::vector<std::string> known;
  for (const std::vector<std::string>& table : tables) {
    for (const std::string& name : table) {
      if (is_by(name, table)) return;
      if (std::find(known.begin(), known.end(), name) == known.end()) known.push_back(name);
    }
  }
  std::string line = "--sort: no column is called '" + std::string(column()) + "'; columns are ";
  for (const std::string& name : known) line += (&name == &known.front() ? "" : ", ") + name;
  throw std::invalid_argument(line);
}

std::vector<std::size_t> order_of(const std::vector<CellValue>& cells, const RowChoice& choice) {
  std::vector<std::size_t> order(cells.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto first = std::find_if_not(cells.begin(), cells.end(), is_unknown);
  const bool ascends = choice.sort.starts_with('+') || (!choice.sort.starts_with('-') &&
                                                        first != cells.end() && !is_number(*first));
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    if (is_unknown(cells[a]) || is_unknown(cells[b])) {
      return !is_unknown(cells[a]) && is_unknown(cells[b]);
    }
    return ascends ? is_less(cells[a], cells[b]) : is_less(cells[b], cells[a]);
  });
  return order;
}

}  // namespace vramscope
