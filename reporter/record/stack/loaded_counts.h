// How many objects the loader has ever loaded and unloaded: who keeps what it found out about them
// sees by these numbers whether it still holds.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace vramscope {

struct LoadedCounts {
  std::uint64_t adds = 0;
  std::uint64_t subs = 0;
  friend bool operator==(const LoadedCounts&, const LoadedCounts&) = default;
};

// Takes the loader's lock for a moment. Threads: any.
[[nodiscard]] LoadedCounts count_loaded() noexcept;

}  // namespace vramscope
