// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/words/quantities.h"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <ctime>

namespace vramscope {
namespace {

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

}  // namespace

std::string bytes_text(std::int64_t bytes) {
  const auto magnitude = static_cast<std::uint64_t>(bytes);
  return bytes < 0 ? "-" + amount_text(0 - magnitude) : amount_text(magnitude);
}

std::string amount_text(std::uint64_t bytes) {
  constexpr std::array<const char*, 7> kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  auto value = static_cast<double>(bytes);
  if (value < 1024) return print("%.0f B", value);
  std::size_t unit = 0;
  while (unit + 1 < kUnits.size() && value >= 1023.5) {  // 1023.5 would print as 1024
    value /= 1024;
    ++unit;
  }
  return three_digits(value) + " " + kUnits[unit];
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

std::string enumerated(const std::vector<std::string>& parts) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == parts.size() ? " and " : ", ") + parts[i];
  }
  return text;
}

std::string capitalised(std::string text) {
  if (!text.empty()) text.replace(0, 1, in_capitals(text.substr(0, 1)));
  return text;
}

std::string in_capitals(std::string_view word) {
  std::string title(word);
  for (char& letter : title) {
    letter = letter >= 'a' ? static_cast<char>(letter - 'a' + 'A') : letter;
  }
  return title;
}

std::string counted(std::uint64_t count, std::string_view noun) {
  std::string text = count_text(count) + " " + std::string(noun);
  return count == 1 ? text : text + "s";
}

std::string times_text(std::uint64_t count) {
  return count == 0 ? "never" : count == 1 ? "once" : counted(count, "time");
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
  if (std::strftime(buffer.data(), buffer.size(), "%Y-%m-%d %H:%M:%S %z", &local) == 0) return "";
  std::string text = buffer.data();
  const std::size_t zone = text.size() - 5;  // "+0200"
  return text.substr(zone) == "+0000" ? text.replace(zone, 5, "UTC") : text.insert(zone + 3, ":");
}

std::string listed(std::span<const std::string_view> names) {
  std::string text;
  for (const std::string_view name : names) text.append(text.empty() ? "" : ", ").append(name);
  return text;
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
  std::string result;
  while (!text.empty()) {
    std::string_view rest = text;
    const bool is_read = !misleads(take_code_point(rest));
    result += is_read ? text.substr(0, text.size() - rest.size()) : "?";
    text = rest;
  }
  return result;
}

}  // namespace vramscope
