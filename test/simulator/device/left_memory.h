// LeftMemory is memory that its maker gave up while other processes have it open: it stays used
// until they close it (openucx/ucx#11753; open-gpu-kernel-modules mem.c:1030, each duplicate holds
// a reference).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

namespace vramscope::simulator {

// For one device and one process. Memory of a process that has ended no longer counts.
// Threads: any.
class LeftMemory {
 public:
  // `is_open` returns whether any process still has these bytes open.
  void add(std::uint64_t bytes, std::function<bool()> is_open) {
    const std::lock_guard lock(mutex_);
    all_.push_back({bytes, std::move(is_open)});
  }
  // Returns the bytes that no process has open any more, each once.
  [[nodiscard]] std::uint64_t let_go() {
    const std::lock_guard lock(mutex_);
    std::uint64_t bytes = 0;
    std::erase_if(all_, [&bytes](const Left& left) {
      if (left.is_open()) return false;
      bytes += left.bytes;
      return true;
    });
    return bytes;
  }

 private:
  struct Left {
    std::uint64_t bytes;
    std::function<bool()> is_open;
  };
  std::mutex mutex_;
  std::vector<Left> all_;
};

}  // namespace vramscope::simulator
