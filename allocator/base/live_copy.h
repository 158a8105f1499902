// A copy of live memory for a child of fork, which does not have the pages of the file.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>

#include "allocator/base/live_memory.h"

namespace vramscope {

// A process takes the copy before it forks and drops it afterwards. Its child puts the copy in
// place of the original. Nothing that the child writes there reaches the file. Threads: one.
class LiveCopy {
 public:
  LiveCopy() = default;
  LiveCopy(const LiveCopy&) = delete;
  LiveCopy& operator=(const LiveCopy&) = delete;

  // Copies nothing if there is no live memory or the system refuses memory. The caller holds the
  // locks of the memory. Keeps errno. Async-signal-safe, like the other functions here.
  void take(const LiveMemory& memory) noexcept;
  void drop() noexcept;
  // In the child: puts the copy in place of the original. Later growth takes memory from the
  // system.
  void put(const LiveMemory& memory) noexcept;

 private:
  [[nodiscard]] static std::size_t bytes_of(const LiveHeader& header, std::size_t part) noexcept;

  std::byte* pages_ = nullptr;
  std::size_t bytes_ = 0;
  std::array<std::size_t, kLiveParts> sizes_{};
};

}  // namespace vramscope
