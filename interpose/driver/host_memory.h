// Host memory: how much of it this process may use at most.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace vramscope {

// Bytes of the machine's memory, or of what the container may use where that is less. Reads two
// small files; `errno` is kept.
[[nodiscard]] std::uint64_t host_memory_bytes() noexcept;

}  // namespace vramscope
