// Graphs tracks the program's graphs that may name blocks of ours: captured graphs, their clones,
// and executables.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "allocator/base/capability.h"
#include "allocator/caching_allocator.h"
#include "interpose/table/functions.h"

namespace vramscope {

// While such a graph exists, blocks that were live when the newest of them was made are not reused.
// Threads: any.
class Graphs {
 public:
  explicit Graphs(CachingAllocator& allocator) : allocator_(allocator) {}

  void began(const void* graph) noexcept;
  // Take the number before the driver destroys the graph, whose handle may be reused at once.
  using Number = std::uint64_t;
  [[nodiscard]] Number newest() noexcept;
  // Ends all records of the graph up to that number (several captures may go to one graph).
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
