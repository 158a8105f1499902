// The program's graphs that may name blocks of ours, remembered: those that captures gave, their
// clones, and executable ones.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "allocator/caching_allocator.h"
#include "allocator/ground/capability.h"
#include "interpose/table/functions.h"

namespace vramscope {

// While there is one, blocks that were live when the last of them came are not handed out again.
// Threads: any.
class Graphs {
 public:
  explicit Graphs(CachingAllocator& allocator) : allocator_(allocator) {}

  void began(const void* graph) noexcept;
  // Take the number before the driver destroys the graph: its handle may come back at once.
  using Number = std::uint64_t;
  [[nodiscard]] Number newest() noexcept;
  // However often it began (captures may go on in one graph), up to that number.
  void ended(const void* graph, Number newest) noexcept;

 private:
  struct Living {
    const void* graph;
    Number number;
  };

  CachingAllocator& allocator_;
  SystemMutex mutex_;  // taken before the allocator's
  std::vector<Living> living_ VRAMSCOPE_GUARDED_BY(mutex_);
  Number newest_ VRAMSCOPE_GUARDED_BY(mutex_) = 0;
};

}  // namespace vramscope
