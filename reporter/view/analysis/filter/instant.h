// read_instant() reads an instant of a run as people write it: the time since the first recorded
// call.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace vramscope {

// Reads "1.5s", "200ms", "12us", "3min", "2h" or "15ns"; a number alone is in seconds. Returns
// nanoseconds, or nothing for other texts and for values beyond 64 bits.
[[nodiscard]] std::optional<std::uint64_t> read_instant(std::string_view text);

// Checks an argument. Returns "" or why it is not an instant.
[[nodiscard]] std::string not_an_instant(const std::string& given);

}  // namespace vramscope
