// Quantities, counts, enumerations and names in words. Nothing here knows how wide a page is.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace vramscope {

// "0 B", "512 B", "1.50 KiB", "80.0 GiB": three digits, binary units.
[[nodiscard]] std::string bytes_text(std::int64_t bytes);
[[nodiscard]] std::string amount_text(std::uint64_t bytes);

// "850 ns", "1.25 us", "3.40 ms", "12.0 s", "2 min 05 s", "3 h 02 min".
[[nodiscard]] std::string duration_text(std::uint64_t ns);

// "1,234,567".
[[nodiscard]] std::string count_text(std::int64_t count);

// "a", "a and b", "a, b and c".
[[nodiscard]] std::string enumerated(const std::vector<std::string>& parts);

// "Never freed" of "never freed".
[[nodiscard]] std::string capitalised(std::string text);
// "OWNER" of "owner".
[[nodiscard]] std::string in_capitals(std::string_view word);

// "1 call", "1,234 calls".
[[nodiscard]] std::string counted(std::uint64_t count, std::string_view noun);

// "never", "once", "2 times".
[[nodiscard]] std::string times_text(std::uint64_t count);

// "98.2 %". "100 %" and "0 %" only where exact; "-" of nothing.
[[nodiscard]] std::string percent_text(std::uint64_t part, std::uint64_t whole);

// Local time with its zone, "2026-11-21 04:15:42 UTC", "... +02:00"; "" for 0.
[[nodiscard]] std::string time_text(std::uint64_t ns_since_epoch);

// Text for a line of stderr, where names must stay what they are: only control characters, those
// that turn the direction of text, and broken UTF-8 become '?'.
[[nodiscard]] std::string harmless(std::string_view text);

// Whether a terminal may take the code point for an order, or a person for another text.
[[nodiscard]] bool misleads(char32_t code_point);

// The code point that `text` begins with, removed from it; kNoCodePoint where it is not valid
// UTF-8 (one byte is removed). `text` must not be empty.
inline constexpr char32_t kNoCodePoint = 0xffffffff;
[[nodiscard]] char32_t take_code_point(std::string_view& text);

// "peak, live, total".
[[nodiscard]] std::string listed(std::span<const std::string_view> names);

}  // namespace vramscope
