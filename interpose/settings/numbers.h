// Numbers and sizes as people write them in options.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace vramscope {

// Written 1024, 512MiB, 1.5GiB (also KiB, TiB, and the same without "iB"; up to three digits behind
// the point).
struct Bytes {
  std::uint64_t value = 0;
  friend bool operator==(Bytes, Bytes) = default;
};

// Written 60 or 0.25: a day at most, in whole milliseconds.
struct Seconds {
  std::uint64_t milliseconds = 0;
  friend bool operator==(Seconds, Seconds) = default;
};

// Written 10% or 10: 1000 at most.
struct Percent {
  std::uint64_t value = 0;
  friend bool operator==(Percent, Percent) = default;
};

// Each reads a whole text into the value and returns true, or leaves the value alone.
[[nodiscard]] bool read(std::string_view text, Bytes& value);
[[nodiscard]] bool read(std::string_view text, Seconds& value);
[[nodiscard]] bool read(std::string_view text, Percent& value);
[[nodiscard]] bool read_number(std::string_view text, std::uint64_t& value);

// Exact, in the largest unit that keeps it whole: 40GiB, 1536MiB, 1000.
[[nodiscard]] std::string size_text(std::uint64_t bytes);

// As they are read: 60, 0.25, 10%, and 0.
[[nodiscard]] std::string text(Seconds value);
[[nodiscard]] std::string text(Percent value);

}  // namespace vramscope
