// ExportedMemory remembers device memory that the program exported by address, until it is freed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <map>
#include <new>

#include "allocator/base/capability.h"
#include "allocator/base/place.h"

namespace vramscope {

// Threads: any.
class ExportedMemory {
 public:
  struct Piece {
    std::uint16_t device = 0;
    std::uint64_t bytes = 0;  // 0: not exported
  };

  // `start`: the start of the driver's allocation. If our memory is exhausted, it is not
  // remembered.
  void add(Address start, Piece piece) noexcept {
    const SystemLock lock(mutex_);
    try {
      pieces_[start] = piece;
      any_.store(true, std::memory_order_relaxed);
    } catch (const std::bad_alloc&) {
    }
  }
  // Whether memory was ever exported.
  [[nodiscard]] bool any() const noexcept { return any_.load(std::memory_order_relaxed); }
  // Removes and returns the piece at `start`, which is about to be freed.
  [[nodiscard]] Piece take(Address start) noexcept {
    if (!any()) return {};
    const SystemLock lock(mutex_);
    const auto found = pieces_.find(start);
    if (found == pieces_.end()) return {};
    const Piece piece = found->second;
    pieces_.erase(found);
    return piece;
  }

 private:
  std::atomic<bool> any_{false};  // ever
  SystemMutex mutex_;
  std::map<Address, Piece> pieces_ VRAMSCOPE_GUARDED_BY(mutex_);
};

}  // namespace vramscope
