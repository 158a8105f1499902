// Decodes the line table.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/record/python/lines.h"

namespace vramscope {

namespace {

constexpr std::uint32_t kUnitBytes = 2;  // bytes of an instruction unit

// An entry begins with a byte whose highest bit is set. In its other bytes that bit is clear.
class Entries {
 public:
  explicit Entries(std::string_view table) : rest_(table) {}

  // Reads the next entry's first byte. Returns false at the end of the table.
  bool next(std::uint8_t& first) noexcept {
    while (!rest_.empty() && !is_first(rest_.front())) rest_.remove_prefix(1);
    if (rest_.empty()) return false;
    first = static_cast<std::uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    return true;
  }

  // Reads six bits from each byte, the lowest first. Bit 6 is set in all bytes except the last one.
  // The lowest bit of the number is the sign.
  std::int64_t signed_number() noexcept {
    std::uint64_t value = 0;
    unsigned shift = 0;
    constexpr unsigned kMostShift = 36;  // a line has 32 bits
    while (!rest_.empty() && !is_first(rest_.front()) && shift <= kMostShift) {
      const auto byte = static_cast<std::uint8_t>(rest_.front());
      rest_.remove_prefix(1);
      value |= std::uint64_t{byte & 0x3fU} << shift;
      shift += 6;
      if ((byte & 0x40U) == 0) break;
    }
    const auto magnitude = static_cast<std::int64_t>(value >> 1);
    return (value & 1) != 0 ? -magnitude : magnitude;
  }

 private:
  static bool is_first(char byte) { return (static_cast<std::uint8_t>(byte) & 0x80U) != 0; }
  std::string_view rest_;
};

}  // namespace

std::uint32_t python_line(std::string_view table, std::uint32_t first_line,
                          std::uint32_t offset) noexcept {
  // Kinds of entries: 0 to 9 are short; 10 to 12 advance by the kind minus 10 lines; 13 has no
  // columns; 14 is long; 15 has no line.
  constexpr unsigned kOneLine = 10, kNoColumns = 13, kLong = 14, kNoLine = 15;
  Entries entries(table);
  std::int64_t line = first_line;
  std::uint64_t end = 0;
  std::uint8_t first = 0;
  while (entries.next(first)) {
    const unsigned kind = first >> 3 & 15U;
    end += ((first & 7U) + 1) * kUnitBytes;
    if (kind >= kOneLine && kind < kNoColumns) line += kind - kOneLine;
    if (kind == kNoColumns || kind == kLong) line += entries.signed_number();
    if (offset >= end) continue;
    const bool valid = kind != kNoLine && line > 0 && line <= INT32_MAX;
    return valid ? static_cast<std::uint32_t>(line) : 0;
  }
  return 0;
}

}  // namespace vramscope
