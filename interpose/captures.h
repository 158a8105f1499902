// The stream captures that are open: while there is one, nothing of ours may wait, query or free.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <vector>

#include "allocator/capability.h"
#include "interpose/functions.h"

namespace vramscope {

// Threads: any.
class Captures {
 public:
  // A stream of a program is known by its handle alone, whatever context is current; default
  // streams have one handle for many streams: those of each context, and of each thread.
  struct Key {
    CUcontext context = nullptr;  // that the stream belongs to
    CUstream stream = nullptr;
    int thread = 0;  // 0 for ordinary streams
    friend bool operator==(const Key&, const Key&) = default;
  };
  // `per_thread`: asked by the _ptsz flavour.
  [[nodiscard]] static Key key(CUstream stream, bool per_thread) noexcept;

  // The graph that the stream captures into, null when it does not capture.
  [[nodiscard]] static CUgraph graph_of(CUstream stream, bool per_thread) noexcept;

  void began(const Key& key) noexcept;
  void ended(const Key& key) noexcept;
  void context_ended(CUcontext context) noexcept;
  [[nodiscard]] bool any() const noexcept { return count_.load(std::memory_order_acquire) != 0; }

 private:
  SystemMutex mutex_;
  std::vector<Key> open_ VRAMSCOPE_GUARDED_BY(mutex_);
  std::atomic<std::size_t> count_{0};
};

}  // namespace vramscope
