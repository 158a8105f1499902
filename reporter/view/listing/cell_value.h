// CellValue is what a listing says in one row and column: the same value as JSON, as CSV and as
// what rows are sorted by.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace vramscope {

// A call stack, innermost first: "make (a.cpp:1)".
using CellStack = std::vector<std::string>;
using CellNumbers = std::vector<std::uint64_t>;
// monostate: unknown.
using CellValue = std::variant<std::monostate, bool, std::int64_t, std::uint64_t, std::string,
                               CellStack, CellNumbers>;

// Unknown where it is negative.
[[nodiscard]] inline std::optional<std::int64_t> if_known(std::int64_t value) {
  return value < 0 ? std::nullopt : std::optional(value);
}
template <class Number>
[[nodiscard]] std::optional<Number> if_not_zero(Number value) {
  return value == 0 ? std::nullopt : std::optional(value);
}

// Unknown last; else by number, or by the letters of words.
[[nodiscard]] bool is_less(const CellValue& a, const CellValue& b);
// In which order somebody expects a column: numbers the largest first, words from A on.
[[nodiscard]] bool is_number(const CellValue& cell);

// Which rows of a listing are shown, and in which order.
struct RowChoice {
  RowChoice() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): most listings only have a number
  RowChoice(std::size_t rows, std::string column = "") : most(rows), sort(std::move(column)) {}

  std::size_t most = 0;  // 0: all
  // Of rows of what was live at a peak: "" where all that was live then counts.
  std::string_view live_title = {};
  std::string sort;  // "COLUMN", "+COLUMN" ascending, "-COLUMN" descending; "": as it comes

  // Without the sign.
  [[nodiscard]] std::string_view column() const;
  // Whether that column is asked for, of those that are there: by its name, or by its title in the
  // text ("NOW", "at-peak").
  [[nodiscard]] bool is_by(std::string_view name, const std::vector<std::string>& names) const;
  // Throws invalid_argument, one line, unless a column of one of these names is asked for, or none.
  void refuse_unless(const std::vector<std::vector<std::string>>& tables) const;
};

// The order of rows with these cells in the column that is asked for: indices, stable.
[[nodiscard]] std::vector<std::size_t> order_of(const std::vector<CellValue>& cells,
                                                const RowChoice& choice);

}  // namespace vramscope
