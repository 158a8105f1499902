// SPDX-License-Identifier: Apache-2.0
#include "interpose/settings/numbers.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <limits>
#include <optional>

namespace vramscope {
namespace {

// Returns the shift of a unit: 20 for "MiB", "M" and "mib".
std::optional<unsigned> unit_shift(std::string_view unit) {
  constexpr std::string_view kUnits = "KMGT";
  std::string upper(unit);
  for (char& c : upper) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  if (upper.empty() || upper == "B") return 0;
  const std::size_t index = kUnits.find(upper[0]);
  if (index == kUnits.npos || (upper.size() != 1 && upper.substr(1) != "IB")) return std::nullopt;
  return 10 * (static_cast<unsigned>(index) + 1);
}

constexpr std::uint64_t kThousand = 1000;

// Reads "1.5", with up to three decimals.
bool read_decimal(std::string_view text, std::uint64_t& whole, std::uint64_t& thousandths) {
  constexpr std::size_t kDigits = 3;
  const std::size_t point = std::min(text.find('.'), text.size());
  std::string fraction(text.substr(std::min(point + 1, text.size())));
  if (fraction.size() > kDigits || (point != text.size() && fraction.empty())) return false;
  fraction.resize(kDigits, '0');
  return read_number(text.substr(0, point), whole) && read_number(fraction, thousandths);
}

}  // namespace

bool read_number(std::string_view text, std::uint64_t& value) {
  std::uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || rest != end) return false;
  value = number;
  return true;
}

bool read(std::string_view text, Bytes& value) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::optional<unsigned> shift = unit_shift(text.substr(digits));
  std::uint64_t whole = 0;
  std::uint64_t thousandths = 0;
  if (!shift || !read_decimal(text.substr(0, digits), whole, thousandths)) return false;
  if (thousandths != 0 && *shift == 0) return false;
  if (whole > std::numeric_limits<std::uint64_t>::max() >> *shift) return false;
  value.value = (whole << *shift) + ((thousandths << *shift) + kThousand / 2) / kThousand;
  return true;
}

bool read(std::string_view text, Seconds& value) {
  constexpr std::uint64_t kDay = 86'400;
  std::uint64_t whole = 0;
  std::uint64_t thousandths = 0;
  if (!read_decimal(text, whole, thousandths)) return false;
  if (whole > kDay || (whole == kDay && thousandths != 0)) return false;
  value.milliseconds = whole * kThousand + thousandths;
  return true;
}

bool read(std::string_view text, Percent& value) {
  constexpr std::uint64_t kMost = 1000;
  if (text.ends_with('%')) text.remove_suffix(1);
  std::uint64_t number = 0;
  if (!read_number(text, number) || number > kMost) return false;
  value.value = number;
  return true;
}

std::string text(Seconds value) {
  std::string result = std::to_string(value.milliseconds / 1000);
  if (value.milliseconds % 1000 == 0) return result;
  std::string fraction = std::to_string(1000 + value.milliseconds % 1000).substr(1);
  fraction.erase(fraction.find_last_not_of('0') + 1);
  return result + "." + fraction;
}

std::string text(Percent value) {
  return std::to_string(value.value) + (value.value == 0 ? "" : "%");
}

std::string size_text(std::uint64_t bytes) {
  constexpr const char* kUnits[] = {"", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (bytes != 0 && bytes % 1024 == 0 && unit + 1 < std::size(kUnits)) {
    bytes /= 1024;
    ++unit;
  }
  return std::to_string(bytes) + kUnits[unit];
}

}  // namespace vramscope
