// A fork mark is a pointer that is null in every child of a fork, however the fork was made.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

namespace vramscope {

// The pointer lies in a page of its own that the kernel hands to children empty (Linux 4.14), so
// clone() and _Fork(), which run no fork handlers, are covered. A child of vfork shares our memory
// and sees the pointer. Where the kernel cannot, clear() in a fork handler has to do.
// Threads: any; set() once.
class ForkMark {
 public:
  constexpr ForkMark() = default;
  [[nodiscard]] void* get() const noexcept {
    return place_.load(std::memory_order_acquire)->load(std::memory_order_acquire);
  }
  void set(void* value) noexcept;
  void clear() noexcept { place_.load(std::memory_order_relaxed)->store(nullptr); }

 private:
  std::atomic<void*> kept_{nullptr};
  std::atomic<std::atomic<void*>*> place_{&kept_};
};

}  // namespace vramscope
