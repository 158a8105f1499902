// Numbers of PTX: decimal and hexadecimal integers, and floating point as its bits (0f, 0d).
// SPDX-License-Identifier: Apache-2.0
#include "test/simulator/device/text_values.h"

#include <charconv>
#include <cstdint>
#include <system_error>

namespace vramscope::simulator {

namespace {

constexpr std::string_view kSpace = " \t\r\n";

std::string_view trimmed(std::string_view text) {
  const std::size_t start = text.find_first_not_of(kSpace);
  if (start == std::string_view::npos) return {};
  return text.substr(start, text.find_last_not_of(kSpace) - start + 1);
}

bool takes(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

std::uint64_t number_in(std::string_view text) {
  const bool is_negative = takes(text, "-");
  int base = 10;
  for (const std::string_view prefix : {"0f", "0F", "0d", "0D", "0x", "0X"}) {
    if (takes(text, prefix)) base = 16;
  }
  if (text.ends_with('U')) text.remove_suffix(1);
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (error != std::errc() || end != text.data() + text.size()) return 0;
  return is_negative ? ~number + 1 : number;
}

}  // namespace

std::string values_in(std::string_view text, std::size_t element_bytes) {
  std::string values;
  text = trimmed(text.substr(0, text.find(';')));
  if (takes(text, "{") && text.ends_with('}')) text.remove_suffix(1);
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::uint64_t number = number_in(trimmed(text.substr(0, comma)));
    values.append(reinterpret_cast<const char*>(&number), element_bytes);
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
  }
  return values;
}

}  // namespace vramscope::simulator
