// SPDX-License-Identifier: Apache-2.0
#include "interpose/driver/graphs.h"

#include <new>

namespace vramscope {

void Graphs::began(const void* graph, CUcontext context) noexcept {
  const SystemLock lock(mutex_);
  try {
    living_.push_back({graph, context, ++newest_});
    allocator_.hold_blocks();
  } catch (const std::bad_alloc&) {
    // Its end would not be known. What it names is then reused, as far as graphs before allow.
  }
}

Graphs::Number Graphs::newest() noexcept {
  const SystemLock lock(mutex_);
  return newest_;
}

template <class Gone>
void Graphs::end_where(Gone gone) noexcept {
  const bool any = std::erase_if(living_, gone) != 0;
  if (any && living_.empty()) allocator_.let_go();
}

void Graphs::ended(const void* graph, Number newest) noexcept {
  const SystemLock lock(mutex_);
  end_where([&](const Living& one) { return one.graph == graph && one.number <= newest; });
}

void Graphs::context_ended(CUcontext context, Number newest) noexcept {
  const SystemLock lock(mutex_);
  end_where([&](const Living& one) { return one.context == context && one.number <= newest; });
}

}  // namespace vramscope
