// change_text() and whole_text() put a change of bytes into words.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace vramscope {

// "+24.0 MiB", "-512 B", "0 B".
[[nodiscard]] std::string change_text(std::int64_t bytes);

// "GPU 0  100 MiB -> 108 MiB (+8.00 MiB, +8.0 %)", "GPU 0  100 MiB, as before"; name: "GPU 0  ".
[[nodiscard]] std::string whole_text(const std::string& name, std::uint64_t before,
                                     std::uint64_t after);

}  // namespace vramscope
