// The program's graphs that may name blocks of ours: those that captures gave, their clones, and
// executable ones.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "allocator/caching_allocator.h"
#include "allocator/capability.h"

namespace vramscope {

// While there is one, blocks that were live when the last of them came are not handed out again.
// Threads: any.
class Graphs {
 public:
  explicit Graphs(CachingAllocator& allocator) : allocator_(allocator) {}

  void began(const void* graph) noexcept;
  void ended(const void* graph) noexcept;

 private:
  CachingAllocator& allocator_;
  SystemMutex mutex_;  // taken before the allocator's
  std::vector<const void*> living_ VRAMSCOPE_GUARDED_BY(mutex_);
};

}  // namespace vramscope
