// Numbers and sizes as people write them in options.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace vramscope {

// Written 1024, 512MiB, 16GiB (also KiB, TiB, and the same without "iB").
struct Bytes {
  std::uint64_t value = 0;
  friend bool operator==(Bytes, Bytes) = default;
};

// Each reads a whole text into the value and returns true, or leaves the value alone.
[[nodiscard]] bool read(std::string_view text, Bytes& value);
[[nodiscard]] bool read_number(std::string_view text, std::uint64_t& value);

// Exact, in the largest unit that keeps it whole: 40GiB, 1536MiB, 1000.
[[nodiscard]] std::string size_text(std::uint64_t bytes);

}  // namespace vramscope
