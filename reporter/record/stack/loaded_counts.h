// LoadedCounts says how many objects the loader has ever loaded and unloaded. Code that keeps facts
// about objects sees from these numbers whether the facts are still valid.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace vramscope {

struct LoadedCounts {
  std::uint64_t adds = 0;
  std::uint64_t subs = 0;
  friend bool operator==(const LoadedCounts&, const LoadedCounts&) = default;
};

// Takes the loader's lock briefly. Threads: any.
[[nodiscard]] LoadedCounts count_loaded() noexcept;

}  // namespace vramscope
