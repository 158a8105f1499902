// Draws areas and axes.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/listing/plot.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace vramscope {
namespace {

constexpr std::size_t kEighths = 8;

std::string padded(const std::string& text, std::size_t width) {
  const std::size_t has = columns(text);
  return has < width ? std::string(width - has, ' ') + text : text;
}

BytesAxis linear_axis(std::uint64_t highest, std::size_t rows) {
  const std::uint64_t least = highest / rows + (highest % rows != 0 ? 1 : 0);
  // Two significant bits, so that numbers are short ones.
  const unsigned bits = static_cast<unsigned>(std::bit_width(std::max<std::uint64_t>(least, 1)));
  const std::uint64_t unit = bits > 3 ? std::uint64_t{1} << (bits - 3) : 1;
  const std::uint64_t rounded = (least / unit + (least % unit != 0 ? 1 : 0)) * unit;
  const std::uint64_t step = std::max<std::uint64_t>(rounded, 1);
  const std::uint64_t needed = highest / step + (highest % step != 0 ? 1 : 0);
  return {.step = step, .rows = std::clamp<std::size_t>(needed, 1, rows)};
}

// Begins below the lowest, so that it is seen how much higher others are.
BytesAxis log_axis(std::uint64_t lowest, std::uint64_t highest, std::size_t rows) {
  const auto begin = static_cast<std::uint64_t>(std::bit_width(lowest / 4 + 1)) - 1;
  const auto end = static_cast<std::uint64_t>(std::bit_width(highest - 1));
  const std::uint64_t span = end > begin ? end - begin : 1;
  const std::uint64_t step = (span + rows - 1) / rows;
  return {.is_log = true,
          .bottom = std::uint64_t{1} << begin,
          .step = step,
          .rows = static_cast<std::size_t>((span + step - 1) / step)};
}

// 1, 2 or 5 times a power of ten, such that ticks are far enough apart.
std::uint64_t tick_ns(std::uint64_t length, std::size_t columns) {
  constexpr std::size_t kApart = 14;  // columns
  const double least = static_cast<double>(length) * kApart / static_cast<double>(columns);
  std::uint64_t tick = 1;
  for (std::size_t i = 0; static_cast<double>(tick) < least && tick < (std::uint64_t{1} << 60);
       ++i) {
    tick = i % 3 == 1 ? tick / 2 * 5 : tick * 2;
  }
  return tick;
}

// "0 s", "20 ms", "1.5 s": without the zeroes that a table has.
std::string tick_text(std::uint64_t ns) {
  if (ns == 0) return "0 s";
  std::string text = duration_text(ns);
  const std::size_t end = text.find(' ');
  const std::size_t point = text.find('.');
  if (point == text.npos || point > end) return text;
  std::size_t keep = text.find_last_not_of('0', end - 1);
  if (keep == point) --keep;
  return text.erase(keep + 1, end - keep - 1);
}

}  // namespace

std::optional<Scale> scale_of(std::string_view name) {
  for (std::size_t i = 0; i < kScaleNames.size(); ++i) {
    if (kScaleNames[i] == name) return static_cast<Scale>(i);
  }
  return std::nullopt;
}

std::uint64_t BytesAxis::top_of(std::size_t row) const {
  if (!is_log) return step * (row + 1);
  const auto bits = static_cast<std::uint64_t>(std::bit_width(bottom)) - 1 + step * (row + 1);
  return bits > 63 ? UINT64_MAX : std::uint64_t{1} << bits;
}

std::size_t BytesAxis::eighths(std::uint64_t bytes) const {
  if (bytes == 0) return 0;
  double share = static_cast<double>(bytes) / static_cast<double>(step);
  if (is_log) {
    share = std::log2(static_cast<double>(bytes) / static_cast<double>(bottom)) /
            static_cast<double>(step);
  }
  const double eighths = std::clamp(share, 0.0, static_cast<double>(rows)) * kEighths;
  return std::max<std::size_t>(static_cast<std::size_t>(eighths + 0.5), 1);
}

// Whether most columns with anything in them end in the lowest row, and differ there by more than
// is seen. Few of them are what was there for a moment as memory came or went: they do not count.
static bool hides_phases(const BytesAxis& linear, std::vector<std::uint64_t> columns) {
  constexpr std::size_t kSeen = 3;  // eighths of a row
  constexpr std::size_t kOneOf = 10;
  std::erase(columns, std::uint64_t{0});
  if (columns.empty()) return false;
  std::sort(columns.begin(), columns.end());
  const auto low = static_cast<std::size_t>(
      std::lower_bound(columns.begin(), columns.end(), linear.step) - columns.begin());
  if (low <= columns.size() / 2) return false;
  const std::uint64_t first = columns[low / kOneOf];
  const std::uint64_t last = columns[low - 1 - low / kOneOf];
  return last / 2 >= first && linear.eighths(last) < linear.eighths(first) + kSeen;
}

BytesAxis axis_for(const std::vector<std::uint64_t>& columns, std::size_t rows, Scale scale) {
  const std::uint64_t highest =
      columns.empty() ? 0 : *std::max_element(columns.begin(), columns.end());
  const BytesAxis linear = linear_axis(highest, rows);
  const bool is_log =
      scale == Scale::log || (scale == Scale::automatic && hides_phases(linear, columns));
  if (!is_log || highest == 0) return linear;
  std::uint64_t lowest = highest;
  for (const std::uint64_t bytes : columns) {
    if (bytes != 0) lowest = std::min(lowest, bytes);
  }
  return log_axis(lowest, highest, rows);
}

std::string axis_label(std::uint64_t bytes, const Page& page) {
  const std::string number = bytes_text(std::min<std::uint64_t>(bytes, INT64_MAX));
  return padded(number, kAxisColumns - 2) + (page.unicode ? " ┤" : " |");
}

std::string area_text(const std::vector<std::uint64_t>& columns, const BytesAxis& axis,
                      const Page& page) {
  constexpr std::array<const char*, 9> kUnicode{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  constexpr std::array<const char*, 9> kAscii{" ", ".", ".", ":", ":", ":", "#", "#", "#"};
  const auto& levels = page.unicode ? kUnicode : kAscii;
  std::vector<std::size_t> heights;
  for (const std::uint64_t bytes : columns) heights.push_back(axis.eighths(bytes));
  std::string result;
  for (std::size_t row = axis.rows; row-- > 0;) {
    std::string line = axis_label(axis.top_of(row), page);
    for (const std::size_t height : heights) {
      const std::size_t below = row * kEighths;
      line += levels[height <= below ? 0 : std::min(height - below, kEighths)];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    result += line + "\n";
  }
  return result;
}

std::string time_axis_text(std::uint64_t from_ns, std::uint64_t to_ns, std::size_t columns,
                           const Page& page) {
  const std::uint64_t length = std::max<std::uint64_t>(to_ns - from_ns, 1);
  const std::uint64_t tick = tick_ns(length, columns);
  std::vector<bool> has_tick(columns);
  std::string labels;
  const std::uint64_t first = from_ns / tick + (from_ns % tick != 0 ? 1 : 0);
  for (std::size_t i = 0; i < columns; ++i) {
    const std::uint64_t at = (first + i) * tick;
    if (at < from_ns || at >= to_ns) break;
    const auto column =
        static_cast<std::size_t>(static_cast<double>(at - from_ns) / static_cast<double>(length) *
                                 static_cast<double>(columns));
    if (column >= columns) break;
    has_tick[column] = true;
    const std::string text = tick_text(at);
    if (column + text.size() > columns || column < labels.size()) continue;
    labels.resize(column, ' ');
    labels += text + " ";
  }
  std::string line = std::string(kAxisColumns - 1, ' ') + (page.unicode ? "└" : "+");
  for (const bool is_tick : has_tick) {
    line += page.unicode ? (is_tick ? "┬" : "─") : (is_tick ? "+" : "-");
  }
  labels.erase(labels.find_last_not_of(' ') + 1);
  return line + "\n" + std::string(kAxisColumns, ' ') + labels + "\n";
}

}  // namespace vramscope
