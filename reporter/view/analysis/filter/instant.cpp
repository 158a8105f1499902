// Reads a number and a unit of time.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/filter/instant.h"

#include <charconv>
#include <cmath>
#include <utility>

namespace vramscope {
namespace {

constexpr std::pair<std::string_view, double> kUnits[] = {
    {"", 1e9}, {"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}, {"min", 60e9}, {"h", 3600e9}};
constexpr double kMost = 9e18;  // below 2^63: about 285 years

}  // namespace

std::optional<std::uint64_t> read_instant(std::string_view text) {
  // No sign, no "inf", no exponent.
  const std::size_t end = text.find_first_not_of("0123456789.");
  const std::string_view number = text.substr(0, end);
  std::string_view unit = end == text.npos ? std::string_view() : text.substr(end);
  if (unit.starts_with(' ')) unit.remove_prefix(1);
  double value = 0;
  const auto read = std::from_chars(number.data(), number.data() + number.size(), value);
  if (number.empty() || read.ec != std::errc() || read.ptr != number.data() + number.size()) {
    return std::nullopt;
  }
  for (const auto& [name, ns] : kUnits) {
    if (unit != name) continue;
    const double instant = value * ns;
    if (instant > kMost) return std::nullopt;
    return static_cast<std::uint64_t>(std::llround(instant));
  }
  return std::nullopt;
}

std::string not_an_instant(const std::string& given) {
  if (read_instant(given)) return "";
  return "'" + given + "' is no time such as 1.5s or 200ms";
}

}  // namespace vramscope
