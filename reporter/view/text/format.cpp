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

std::vector<std::size_t> Table::widths() const {
  std::vector<std::size_t> result;
  for (const Column& column : columns_) result.push_back(columns(column.title));
  for (const std::vector<std::string>& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) result[i] = std::max(result[i], columns(row[i]));
  }
  return result;
}

std::string Table::text(const Page& page) const {
  const std::vector<std::size_t> wide = widths();
  const auto line_of = [&](const auto& cell_at) {
    std::string line;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      line += "  ";
      const bool last = i + 1 == columns_.size() && columns_[i].align == Align::left;
      const std::size_t used = columns(line);
      const std::size_t room = page.width > used ? page.width - used : 1;
      line += last ? fitted(cell_at(i), room) : padded(cell_at(i), wide[i], columns_[i].align);
    }
    trim_right(line);
    return line;
  };
  std::string result =
      coloured(line_of([&](std::size_t i) { return columns_[i].title; }), Colour::dim, page) + "\n";
  for (const std::vector<std::string>& row : rows_) {
    result +=
        line_of([&](std::size_t i) { return i < row.size() ? row[i] : std::string(); }) + "\n";
  }
  return result;
}

}  // namespace vramscope
