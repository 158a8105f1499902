// Which graphs live.
// SPDX-License-Identifier: Apache-2.0
#include "interpose/graphs.h"

#include <algorithm>
#include <new>

namespace vramscope {

void Graphs::began(const void* graph) noexcept {
  const SystemLock lock(mutex_);
  try {
    living_.push_back(graph);
    allocator_.hold_blocks();
  } catch (const std::bad_alloc&) {
    // Its end would not be known. What it names is then reused, as far as graphs before allow.
  }
}

void Graphs::ended(const void* graph) noexcept {
  const SystemLock lock(mutex_);
  const auto it = std::find(living_.begin(), living_.end(), graph);
  if (it == living_.end()) return;
  living_.erase(it);
  if (living_.empty()) allocator_.let_go();
}

}  // namespace vramscope
