// The stream captures that are open in this process: while there is one, nothing of ours may wait,
// query or free.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "allocator/ground/capability.h"
#include "interpose/table/functions.h"

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

  // Tells captures of one stream apart.
  using Number = std::uint64_t;
  static constexpr Number none = 0;

  // A capture is open from before the driver's call that begins it: no wait of ours starts
  // meanwhile. Withdrawn by ended() when the driver refuses.
  [[nodiscard]] Number begins(const Key& key, CUstreamCaptureMode mode) noexcept;
  // The driver began it. `graph`: that ends with the capture when it fails; null when the program
  // owns it.
  void began(Number capture, CUgraph graph) noexcept;
  // The capture that an end of the stream's capture will end, to be asked before the driver's call:
  // once that returns another thread may begin the next.
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
  // Is there one during which the driver refuses a free, and breaks the capture? It allows frees
  // where all are relaxed (measured on an H200, driver 580).
  [[nodiscard]] bool forbid_frees() const noexcept {
    return strict_.load(std::memory_order_acquire) != 0;
  }

 private:
  static constexpr Number kUnlisted = ~Number{0};  // counted alone, for want of memory
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
