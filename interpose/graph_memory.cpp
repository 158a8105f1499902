// Graphs with memory nodes.
// SPDX-License-Identifier: Apache-2.0
#include "interpose/graph_memory.h"

#include <new>

namespace vramscope {

bool GraphMemory::added(CUgraph graph, Address address) noexcept {
  const SystemLock lock(mutex_);
  try {
    auto it = graphs_.find(graph);
    if (it == graphs_.end()) {
      memories_[newest_ + 1];
      it = graphs_.emplace(graph, ++newest_).first;
    }
    memories_.at(it->second).addresses.push_back(address);
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

void GraphMemory::instantiated(CUgraphExec executable, CUgraph graph) noexcept {
  const SystemLock lock(mutex_);
  const auto it = graphs_.find(graph);
  if (it == graphs_.end()) return;
  try {
    executables_[executable] = it->second;
    ++memories_.at(it->second).holders;
  } catch (const std::bad_alloc&) {
    // Its memory then ends with the graph.
  }
}

}  // namespace vramscope
