// Which graphs have memory nodes: their memory lives until the graph and every executable made from
// it are destroyed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "allocator/capability.h"
#include "allocator/place.h"
#include "interpose/functions.h"

namespace vramscope {

// Threads: any. Nothing here calls the driver. `end` is called as end(address) for each node's
// memory, with the lock held: it may go to the allocator, not back to here.
class GraphMemory {
 public:
  using Number = std::uint64_t;  // of the graphs with memory nodes; never given twice
  static constexpr Number none = 0;

  // `graph` has a node that allocates at `address`. False: our own memory is exhausted.
  [[nodiscard]] bool added(CUgraph graph, Address address) noexcept;
  void instantiated(CUgraphExec executable, CUgraph graph) noexcept;

  // To be asked before the driver destroys it: another thread may get the handle at once.
  [[nodiscard]] Number number_of(CUgraph graph) const noexcept {
    const SystemLock lock(mutex_);
    return find(graphs_, graph);
  }
  [[nodiscard]] Number number_of(CUgraphExec executable) const noexcept {
    const SystemLock lock(mutex_);
    return find(executables_, executable);
  }
  template <class End>
  void ended(CUgraph graph, Number number, End end) noexcept {
    const SystemLock lock(mutex_);
    release(graphs_, graph, number, end);
  }
  template <class End>
  void ended(CUgraphExec executable, Number number, End end) noexcept {
    const SystemLock lock(mutex_);
    release(executables_, executable, number, end);
  }

 private:
  struct Memory {
    std::uint64_t holders = 1;
    std::vector<Address> addresses;
  };

  template <class Handles, class Handle>
  [[nodiscard]] static Number find(const Handles& handles, Handle handle) noexcept {
    const auto it = handles.find(handle);
    return it != handles.end() ? it->second : none;
  }
  template <class Handles, class Handle, class End>
  void release(Handles& handles, Handle handle, Number number, End end) noexcept
      VRAMSCOPE_REQUIRES(mutex_) {
    const auto named = handles.find(handle);
    if (named != handles.end() && named->second == number) handles.erase(named);
    const auto it = memories_.find(number);
    if (it == memories_.end() || --it->second.holders > 0) return;
    for (const Address address : it->second.addresses) end(address);
    memories_.erase(it);
  }

  mutable SystemMutex mutex_;
  Number newest_ VRAMSCOPE_GUARDED_BY(mutex_) = none;
  std::map<CUgraph, Number> graphs_ VRAMSCOPE_GUARDED_BY(mutex_);
  std::map<CUgraphExec, Number> executables_ VRAMSCOPE_GUARDED_BY(mutex_);
  std::map<Number, Memory> memories_ VRAMSCOPE_GUARDED_BY(mutex_);
};

}  // namespace vramscope
