// SPDX-License-Identifier: Apache-2.0
#include "interpose/driver/graphs.h"

#include <new>

namespace vramscope {

void Graphs::began(const void* graph) noexcept {
  const SystemLock lock(mutex_);
  try {
    living_.push_back({graph, ++newest_});
    allocator_.hold_blocks();
  } catch (const std::bad_alloc&) {
    // Without memory its end would not be noticed, so it is ignored: blocks that it names may be
    // reused, as far as earlier graphs allow.
  }
}

Graphs::Number Graphs::newest() noexcept {
  const SystemLock lock(mutex_);
  return newest_;
}

void Graphs::ended(const void* graph, Number newest) noexcept {
  const SystemLock lock(mutex_);
  const auto is_it = [&](const Living& one) { return one.graph == graph && one.number <= newest; };
  const bool any = std::erase_if(living_, is_it) != 0;
  if (any && living_.empty()) allocator_.let_go();
}

}  // namespace vramscope
