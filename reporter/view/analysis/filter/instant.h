// The functions here read instants of a run as people write them: how long after its first recorded
// call.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace vramscope {

// "1.5s", "200ms", "12us", "3min", "2h", "15ns"; a number alone is seconds. In nanoseconds; nothing
// for any other text, and for what no 64 bits hold.
[[nodiscard]] std::optional<std::uint64_t> read_instant(std::string_view text);

// Check of an argument: "", or why it is no instant.
[[nodiscard]] std::string not_an_instant(const std::string& given);

}  // namespace vramscope
