// The stream captures that are open: while there is one, nothing of ours may wait, query or free.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <mutex>
#include <vector>

#include "interpose/functions.h"

namespace vramscope {

// Threads: any.
class Captures {
 public:
  // Default streams have one handle for many streams: `thread` tells per-thread ones apart.
  struct Key {
    CUcontext context = nullptr;
    CUstream stream = nullptr;
    int thread = 0;  // 0 for ordinary streams
    friend bool operator==(const Key&, const Key&) = default;
  };
  // `stream` in the calling thread's current context; `per_thread`: asked by the _ptsz flavour.
  [[nodiscard]] static Key key(CUstream stream, bool per_thread) noexcept;

  void began(const Key& key) noexcept;
  void ended(const Key& key) noexcept;
  void context_ended(CUcontext context) noexcept;
  [[nodiscard]] bool any() const noexcept { return count_.load(std::memory_order_acquire) != 0; }

 private:
  std::mutex mutex_;
  std::vector<Key> open_;
  std::atomic<std::size_t> count_{0};
};

}  // namespace vramscope
