// Captures tracks the open stream captures of this process. While one is open, our code must not
// wait, query or free.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "allocator/base/capability.h"
#include "interpose/table/functions.h"

namespace vramscope {

// Threads: any.
class Captures {
 public:
  // The handle alone identifies an ordinary stream in any context. A default stream's handle stands
  // for one stream in each context, or in each thread.
  struct Key {
    CUcontext context = nullptr;  // that the stream belongs to
    CUstream stream = nullptr;
    int thread = 0;  // 0 for ordinary streams
    friend bool operator==(const Key&, const Key&) = default;
  };
  // `per_thread`: the call is the _ptsz flavour.
  [[nodiscard]] static Key key(CUstream stream, bool per_thread) noexcept;

  // Returns the graph into which the stream captures; null if it does not capture.
  [[nodiscard]] static CUgraph graph_of(CUstream stream, bool per_thread) noexcept;

  // Identifies a capture among those of its stream.
  using Number = std::uint64_t;
  static constexpr Number none = 0;

  // Opens a capture before the driver's call that begins it, so that no wait of ours starts
  // meanwhile. If the driver refuses, call ended().
  [[nodiscard]] Number begins(const Key& key, CUstreamCaptureMode mode) noexcept;
  // Notes that the driver began the capture. `graph`: the graph that ends with a failed capture;
  // null if the program owns it.
  void began(Number capture, CUgraph graph) noexcept;
  // Finds the stream's capture before the driver's call that ends it. When that call returns,
  // another thread may begin the next one.
  [[nodiscard]] Number find(const Key& key) noexcept;
  [[nodiscard]] CUgraph graph_of(Number capture) noexcept;
  void ended(Number capture) noexcept;
  // Calls end(graph) for each capture of the context, with the lock held.
  template <class End>
  void context_ended(CUcontext context, End end) noexcept {
    const SystemLock lock(mutex_);
    const std::size_t gone = std::erase_if(open_, [&](const Open& one) {
      const bool is_of_it = one.key.context == context;
      if (is_of_it && one.graph != nullptr) end(one.graph);
      if (is_of_it && one.is_strict) strict_.fetch_sub(1, std::memory_order_release);
      return is_of_it;
    });
    count_.fetch_sub(gone, std::memory_order_release);
  }
  [[nodiscard]] bool any() const noexcept { return count_.load(std::memory_order_acquire) != 0; }
  // Whether an open capture makes the driver refuse a free and break the capture. The driver allows
  // frees if all captures are relaxed (measured on an H200, driver 580).
  [[nodiscard]] bool forbid_frees() const noexcept {
    return strict_.load(std::memory_order_acquire) != 0;
  }

 private:
  static constexpr Number kUnlisted = ~Number{0};  // counted, but not listed for want of memory
  struct Open {
    Key key;
    Number number;
    CUgraph graph = nullptr;
    bool has_begun = false;
    bool is_strict = true;  // of another mode than relaxed
  };
  SystemMutex mutex_;
  Number newest_ VRAMSCOPE_GUARDED_BY(mutex_) = none;
  std::vector<Open> open_ VRAMSCOPE_GUARDED_BY(mutex_);
  std::atomic<std::size_t> count_{0};
  std::atomic<std::size_t> strict_{0};
};

}  // namespace vramscope
