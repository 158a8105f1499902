// A copy of live memory for a child of fork, which does not have the pages of the file.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>

#include "allocator/ground/live_memory.h"

namespace vramscope {

// A process that forks takes the copy before and drops it afterwards; its child puts it where the
// original was. Nothing that the child writes there reaches the file. Threads: one.
class LiveCopy {
 public:
  LiveCopy() = default;
  LiveCopy(const LiveCopy&) = delete;
  LiveCopy& operator=(const LiveCopy&) = delete;

  // Nothing is copied when nothing is live, or when the system refuses memory. Who shares locks
  // with others holds them. Keeps errno. Async-signal-safe, as the others here.
  void take(const LiveMemory& memory) noexcept;
  void drop() noexcept;
  // In the child: in place of the original. What is added later is memory from the system.
  void put(const LiveMemory& memory) noexcept;

 private:
  [[nodiscard]] static std::size_t bytes_of(const LiveHeader& header, std::size_t part) noexcept;

  std::byte* pages_ = nullptr;
  std::size_t bytes_ = 0;
  std::array<std::size_t, kLiveParts> sizes_{};
};

}  // namespace vramscope
