// Kept objects lie in live memory if it exists, where they stay for good, and otherwise on the
// heap.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <new>
#include <utility>

#include "allocator/base/live_memory.h"

namespace vramscope {

// Makes an object. live: null if the process has no live memory. May throw bad_alloc.
template <class T, class... Args>
[[nodiscard]] T* make_kept(LiveMemory* live, Args&&... args) {
  if (live == nullptr) return new T(std::forward<Args>(args)...);
  T* const made = live->make<T>(std::forward<Args>(args)...);
  if (made == nullptr) throw std::bad_alloc();
  return made;
}

template <class T>
void drop_kept(LiveMemory* live, T* kept) noexcept {
  if (live == nullptr) delete kept;
}

struct KeptDelete {
  LiveMemory* live = nullptr;
  template <class T>
  void operator()(T* kept) const noexcept {
    drop_kept(live, kept);
  }
};
template <class T>
using Kept = std::unique_ptr<T, KeptDelete>;

}  // namespace vramscope
