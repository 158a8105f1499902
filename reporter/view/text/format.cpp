// Numbers, tables and names as a person reads them.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/format.h"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <ctime>

namespace vramscope {
namespace {

constexpr std::string_view kEllipsis = "..";

template <class... Values>
std::string print(const char* format, Values... values) {
  std::array<char, 64> buffer{};
  std::snprintf(buffer.data(), buffer.size(), format, values...);
  return buffer.data();
}

// Three digits: 1.50, 15.0, 150.
std::string three_digits(double value) {
  if (value < 9.995) return print("%.2f", value);
  if (value < 99.95) return print("%.1f", value);
  return print("%.0f", value);
}

constexpr std::string_view escape_of(Colour colour) {
  switch (colour) {
    case Colour::bold:
      return "\033[1m";
    case Colour::dim:
      return "\033[2m";
    case Colour::red:
      return "\033[31m";
    case Colour::yellow:
      return "\033[33m";
  }
  return "";
}

std::string padded(std::string text, std::size_t width, Table::Align align) {
  const std::size_t has = columns(text);
  const std::string fill(width > has ? width - has : 0, ' ');
  return align == Table::Align::left ? text + fill : fill + text;
}

void trim_right(std::string& line) { line.erase(line.find_last_not_of(' ') + 1); }

}  // namespace

std::string coloured(std::string_view text, Colour colour, const Page& page) {
  if (!page.colour) return std::string(text);
  return std::string(escape_of(colour)) + std::string(text) + "\033[0m";
}

std::string bytes_text(std::int64_t bytes) {
  constexpr std::array<const char*, 7> kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  const std::string sign = bytes < 0 ? "-" : "";
  double value = bytes < 0 ? -static_cast<double>(bytes) : static_cast<double>(bytes);
  if (value < 1024) return sign + print("%.0f B", value);
  std::size_t unit = 0;
  while (unit + 1 < kUnits.size() && value >= 1023.5) {  // 1023.5 would print as 1024
    value /= 1024;
    ++unit;
  }
  return sign + three_digits(value) + " " + kUnits[unit];
}

std::string duration_text(std::uint64_t ns) {
  constexpr std::array<const char*, 4> kUnits = {"ns", "us", "ms", "s"};
  if (ns < 1000) return print("%" PRIu64 " ns", ns);
  const std::uint64_t seconds = ns / 1'000'000'000 + (ns % 1'000'000'000 >= 500'000'000 ? 1 : 0);
  if (seconds >= 3600) {
    return print("%" PRIu64 " h %02" PRIu64 " min", seconds / 3600, seconds / 60 % 60);
  }
  if (seconds >= 100) return print("%" PRIu64 " min %02" PRIu64 " s", seconds / 60, seconds % 60);
  double value = static_cast<double>(ns);
  std::size_t unit = 0;
  while (unit + 1 < kUnits.size() && value >= 999.5) {
    value /= 1000;
    ++unit;
  }
  return three_digits(value) + " " + kUnits[unit];
}

std::string count_text(std::int64_t count) {
  std::string digits = print("%" PRId64, count);
  const std::size_t first = digits[0] == '-' ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3;) digits.insert(at -= 3, 1, ',');
  return digits;
}

std::string counted(std::uint64_t count, std::string_view noun) {
  std::string text = count_text(static_cast<std::int64_t>(count)) + " " + std::string(noun);
  return count == 1 ? text : text + "s";
}

std::string percent_text(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return "-";
  const double percent = 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  if (part == 0) return "0 %";
  if (part == whole) return "100 %";
  if (percent < 0.1) return "<0.1 %";
  if (part < whole) return print("%.1f %%", std::min(percent, 99.9));
  return print("%.0f %%", percent);
}

std::string time_text(std::uint64_t ns_since_epoch) {
  if (ns_since_epoch == 0) return "";
  const auto seconds = static_cast<std::time_t>(ns_since_epoch / 1'000'000'000);
  std::tm local{};
  std::array<char, 32> buffer{};
  if (localtime_r(&seconds, &local) == nullptr) return "";
  if (std::strftime(buffer.data(), buffer.size(), "%Y-%m-%d %H:%M:%S", &local) == 0) return "";
  return buffer.data();
}

std::string bar(std::uint64_t part, std::uint64_t whole, std::size_t cells, const Page& page) {
  const double share =
      whole == 0 ? 0 : std::min(1.0, static_cast<double>(part) / static_cast<double>(whole));
  auto filled = static_cast<std::size_t>(share * static_cast<double>(cells) + 0.5);
  if (part != 0 && whole != 0) filled = std::max<std::size_t>(filled, 1);
  std::string result;
  for (std::size_t i = 0; i < cells; ++i) {
    result += i < filled ? (page.unicode ? "\u2588" : "#") : (page.unicode ? "\u2591" : ".");
  }
  return result;
}

char32_t take_code_point(std::string_view& text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  const std::size_t length = first < 0x80   ? 1
                             : first < 0xc2 ? 0
                             : first < 0xe0 ? 2
                             : first < 0xf0 ? 3
                             : first < 0xf5 ? 4
                                            : 0;
  char32_t value = length == 1 ? first : first & (0x7fu >> length);
  bool valid = length != 0 && length <= text.size();
  for (std::size_t i = 1; valid && i < length; ++i) {
    valid = (byte(i) & 0xc0u) == 0x80u;
    value = (value << 6) | (byte(i) & 0x3fu);
  }
  // Too long a form, a surrogate, or beyond the last code point.
  if (valid && length == 3) valid = value >= 0x800 && (value < 0xd800 || value > 0xdfff);
  if (valid && length == 4) valid = value >= 0x10000 && value <= 0x10ffff;
  text.remove_prefix(valid ? length : 1);
  return valid ? value : kNoCodePoint;
}

bool misleads(char32_t c) {
  const bool is_control = c < 0x20 || (c >= 0x7f && c < 0xa0);
  // Invisible characters that turn the direction of text around, so that a name reads as another.
  const bool turns_text = (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
  return is_control || turns_text || c == kNoCodePoint;
}

std::string harmless(std::string_view text) {
  return printable(text, {.width = 0, .unicode = true, .colour = false});
}

std::string printable(std::string_view text, const Page& page) {
  std::string result;
  while (!text.empty()) {
    std::string_view rest = text;
    const char32_t c = take_code_point(rest);
    if (!misleads(c) && (c < 0x80 || page.unicode)) {
      result += text.substr(0, text.size() - rest.size());
    } else {
      result += '?';
    }
    text = rest;
  }
  return result;
}

std::size_t columns(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0u) != 0x80u;
  }));
}

std::string fitted(std::string_view text, std::size_t width) {
  if (columns(text) <= width) return std::string(text);
  const std::size_t keep = width > kEllipsis.size() ? width - kEllipsis.size() : 0;
  std::string_view rest = text;
  for (std::size_t i = 0; i < keep; ++i) (void)take_code_point(rest);
  const std::string kept(text.substr(0, text.size() - rest.size()));
  return kept + std::string(kEllipsis.substr(0, width - keep));
}

std::string fitted(std::string_view text, const Page& page) {
  return page.cuts ? fitted(text, page.width) : std::string(text);
}

std::string shortened(std::string_view text, std::size_t width) {
  const std::size_t has = columns(text);
  if (has <= width) return std::string(text);
  const std::size_t kept = width - std::min(width, kEllipsis.size());
  std::string_view end = text;
  for (std::size_t i = 0; i < has - kept / 2; ++i) (void)take_code_point(end);
  return fitted(text, width - kept / 2) + std::string(end);
}

std::string wrapped(std::string_view text, std::size_t width) {
  std::string result;
  while (columns(text) > width) {
    std::size_t space = text.rfind(' ', width);
    if (space == std::string_view::npos) space = text.find(' ');
    if (space == std::string_view::npos) break;
    (result += text.substr(0, space)) += '\n';
    text.remove_prefix(space + 1);
  }
  return result += text;
}

namespace {

// Where a line of at most `width` columns ends: behind a part of the sentence, else behind a word.
std::size_t end_of_line(std::string_view text, std::size_t width) {
  if (columns(text) <= width) return text.size();
  std::string_view rest = text;
  for (std::size_t i = 0; i < width; ++i) (void)take_code_point(rest);
  const std::size_t most = text.size() - rest.size();
  const std::size_t space = text.rfind(' ', most);
  for (std::size_t at = space; at != std::string_view::npos && at > most / 2;
       at = text.rfind(' ', at - 1)) {
    if (text[at - 1] == ',' || text[at - 1] == ';') return at;
  }
  return space == std::string_view::npos || space == 0 ? std::min(text.find(' '), text.size())
                                                       : space;
}

}  // namespace

std::string paragraph(std::string_view text, const Page& page) {
  if (!page.cuts) return "  " + std::string(text) + "\n";
  std::string result;
  for (std::string_view margin = "  "; !text.empty() || result.empty(); margin = "    ") {
    const std::size_t length = end_of_line(text, page.width - std::min(page.width, margin.size()));
    result += fitted(std::string(margin).append(text.substr(0, length)), page) + "\n";
    text.remove_prefix(std::min(text.size(), length + 1));
  }
  return result;
}

std::string listed(std::span<const std::string_view> names) {
  std::string text;
  for (const std::string_view name : names) text.append(text.empty() ? "" : ", ").append(name);
  return text;
}

namespace {

// What a terminal must not get, or what is no UTF-8: as bash, ksh and zsh read it.
std::string escaped_word(std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string result = "$'";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7f) {
      result += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
    } else {
      if (c == '\'' || c == '\\') result += '\\';
      result += c;
    }
  }
  return result + "'";
}

}  // namespace

std::string shell_word(std::string_view text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-~";
  const bool plain = !text.empty() && text[0] != '~' && text[0] != '-' &&
                     text.find_first_not_of(kPlain) == std::string_view::npos;
  if (plain) return std::string(text);
  if (harmless(text) != text) return escaped_word(text);
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

std::string shell_path(std::string_view path, const Page& page) {
  const std::string word = path.starts_with('-') ? "./" + std::string(path) : std::string(path);
  return printable(word, page) == word ? shell_word(word) : escaped_word(word);
}

std::string next_command(std::string_view words, std::string_view path, const Page& page) {
  std::string line = "\nNext: vramscope ";
  line.append(words).append(" ").append(shell_path(path, page));
  return line + "\n";
}

std::vector<std::size_t> Table::widths() const {
  std::vector<std::size_t> result;
  for (const Column& column : columns_) result.push_back(columns(column.title));
  for (const std::vector<std::string>& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) result[i] = std::max(result[i], columns(row[i]));
  }
  return result;
}

Table::Layout Table::layout(const Page& page) const {
  Layout result{.shown = std::vector<bool>(columns_.size(), true)};
  if (!page.cuts) {
    result.room = kUncut;
    return result;
  }
  const std::vector<std::size_t> wide = widths();
  const std::size_t wanted = kept_room_.value_or(std::min(kLeastRoom, wide.back()));
  constexpr std::size_t kGap = 2;
  std::size_t used = kGap;
  for (std::size_t i = 0; i + 1 < wide.size(); ++i) used += wide[i] + kGap;
  while (page.width < used - 1 + wanted) {  // the indentation may give one
    std::size_t first = columns_.size();
    for (std::size_t i = 0; i + 1 < columns_.size(); ++i) {
      const unsigned least = first == columns_.size() ? 0 : columns_[first].yields;
      if (result.shown[i] && columns_[i].yields > least) first = i;
    }
    if (first == columns_.size()) break;
    result.shown[first] = false;
    used -= wide[first] + kGap;
  }
  if (page.width + 1 == used + wanted) result.indent = 1;
  used -= kGap - result.indent;
  result.room = page.width > used ? page.width - used : 1;
  return result;
}

std::size_t Table::room(const Page& page) const { return layout(page).room; }

std::string Table::line(const std::vector<std::string>& cells, const std::vector<std::size_t>& wide,
                        const Layout& layout) const {
  std::string result(layout.indent, ' ');
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (!layout.shown[i]) continue;
    const std::string_view cell = i < cells.size() ? std::string_view(cells[i]) : "";
    const bool last = i + 1 == columns_.size() && columns_[i].align == Align::left;
    result +=
        last ? fitted(cell, layout.room) : padded(std::string(cell), wide[i], columns_[i].align);
    result += "  ";
  }
  trim_right(result);
  return result;
}

std::string Table::text(const Page& page) const {
  const std::vector<std::size_t> wide = widths();
  const Layout shown = layout(page);
  std::vector<std::string> titles;
  for (const Column& column : columns_) titles.push_back(column.title);
  std::string result = coloured(line(titles, wide, shown), Colour::dim, page) + "\n";
  for (const std::vector<std::string>& row : rows_) result += line(row, wide, shown) + "\n";
  return result;
}

std::string Table::left_out(const Page& page) const {
  const Layout shown = layout(page);
  std::string names;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (shown.shown[i]) continue;
    names += (names.empty() ? "" : ", ") + columns_[i].title;
  }
  if (names.empty()) return "";
  return paragraph("No room for " + names + ": --wide shows all.", page);
}

}  // namespace vramscope
