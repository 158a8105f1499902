// host_memory_bytes() says how much host memory this process may use.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace vramscope {

// Returns the bytes of the machine's memory, or the container's limit if that is less. Reads two
// small files. Keeps errno.
[[nodiscard]] std::uint64_t host_memory_bytes() noexcept;

}  // namespace vramscope
