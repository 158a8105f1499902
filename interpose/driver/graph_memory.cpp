// SPDX-License-Identifier: Apache-2.0
#include "interpose/driver/graph_memory.h"

#include <algorithm>
#include <iterator>
#include <new>

namespace vramscope {
namespace {

template <class Handles, class Handle>
auto find_in(const Handles& handles, Handle handle) {
  const auto it = handles.find(handle);
  return it != handles.end() ? it->second : typename Handles::mapped_type{};
}

}  // namespace

GraphMemory::Number GraphMemory::number_for(CUgraph graph) {
  const auto [it, is_new] = handles_.try_emplace(graph, newest_ + 1);
  if (!is_new) return it->second;
  try {
    graphs_[newest_ + 1];
  } catch (const std::bad_alloc&) {
    handles_.erase(it);
    throw;
  }
  any_.store(true, std::memory_order_release);
  return ++newest_;
}

// The driver reuses an address only after its memory is gone, so we missed its end.
void GraphMemory::replace(Memories::iterator it) {
  const auto graph = graphs_.find(it->second.graph);
  if (graph != graphs_.end()) std::erase(graph->second.allocations, it->first);
  change(it, [](Memory& old) { old.taken = old.left = old.graph = none; });
}

bool GraphMemory::allocates(CUgraph graph, const GraphNodeMemory& memory) noexcept {
  if (memory.where.device >= kMaxDevices) return false;
  const SystemLock lock(mutex_);
  try {
    const Number number = number_for(graph);
    if (const auto it = memories_.find(memory.address); it != memories_.end()) {
      if (it->second.graph == number) {  // allocated again after a node that frees it
        it->second.node.bytes = std::max(it->second.node.bytes, memory.bytes);
        it->second.freed_inside = false;
        return true;
      }
      replace(it);
    }
    memories_[memory.address] = {.node = memory, .graph = number};
    graphs_.at(number).allocations.push_back(memory.address);
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

bool GraphMemory::frees(CUgraph graph, Address address) noexcept {
  const SystemLock lock(mutex_);
  try {
    const Number number = number_for(graph);
    const auto it = memories_.find(address);
    if (it != memories_.end() && it->second.graph == number) {
      it->second.freed_inside = true;
    } else {
      graphs_.at(number).frees.push_back(address);
    }
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

void GraphMemory::moved(CUgraph child, CUgraph parent) noexcept {
  const SystemLock lock(mutex_);
  const auto from = handles_.find(child);
  if (from == handles_.end()) return;
  try {
    const Number number = number_for(parent);
    Graph& to = graphs_.at(number);
    Graph& gone = graphs_.at(from->second);
    to.allocations.reserve(to.allocations.size() + gone.allocations.size());
    to.frees.insert(to.frees.end(), gone.frees.begin(), gone.frees.end());
    const Number old = from->second;
    for (const Address address : gone.allocations) {
      to.allocations.push_back(address);
      memories_.at(address).graph = number;
    }
    graphs_.erase(old);
    for (auto& [handle, named] : handles_) {  // of the child and of graphs that it owns
      if (named == old) named = number;
    }
  } catch (const std::bad_alloc&) {
    // Without memory: the graph's memory is not recorded.
  }
}

void GraphMemory::instantiated(CUgraphExec executable, CUgraph graph) noexcept {
  const SystemLock lock(mutex_);
  const auto before = executables_.find(executable);
  if (before != executables_.end()) end(before);
  const Number number = find_in(handles_, graph);
  if (number == none) return;
  try {
    executables_[executable] = {.number = ++newest_, .graph = number};
    ++graphs_.at(number).holders;
  } catch (const std::bad_alloc&) {
    // Without memory: the launches are not recorded.
  }
}

GraphMemory::Bytes GraphMemory::sizes_of(Number number) const {
  Bytes sizes{};
  const auto graph = graphs_.find(number);
  if (graph == graphs_.end()) return sizes;
  for (const Address address : graph->second.allocations) {
    const GraphNodeMemory& node = memories_.at(address).node;
    sizes[node.where.device] += node.bytes;
  }
  return sizes;
}

// Counts idle memory of other graphs as available. Only the driver knows whether those graphs run
// now, and refuses the launch if they do.
GraphMemory::Bytes GraphMemory::needs_of(Number number) const {
  Bytes needs{};
  const auto graph = graphs_.find(number);
  if (graph == graphs_.end()) return needs;
  for (const Address address : graph->second.allocations) {
    const Memory& memory = memories_.at(address);
    if (!memory.used()) needs[memory.node.where.device] += memory.node.bytes;
  }
  if (needs == Bytes{}) return needs;
  for (const auto& [address, memory] : memories_) {
    std::uint64_t& need = needs[memory.node.where.device];
    if (memory.idle() && memory.graph != number) need -= std::min(need, memory.node.bytes);
  }
  return needs;
}

GraphMemory::Bytes GraphMemory::sizes(CUgraph graph) const noexcept {
  const SystemLock lock(mutex_);
  return sizes_of(find_in(handles_, graph));
}

GraphMemory::Bytes GraphMemory::sizes(CUgraphExec executable) const noexcept {
  const SystemLock lock(mutex_);
  return sizes_of(find_in(executables_, executable).graph);
}

GraphMemory::Bytes GraphMemory::needs(CUgraph graph) const noexcept {
  const SystemLock lock(mutex_);
  return needs_of(find_in(handles_, graph));
}

GraphMemory::Bytes GraphMemory::needs(CUgraphExec executable) const noexcept {
  const SystemLock lock(mutex_);
  return needs_of(find_in(executables_, executable).graph);
}

// Changes memory, and counts it in or out if its use changed.
template <class Change>
void GraphMemory::change(Memories::iterator it, Change what) {
  Memory& memory = it->second;
  const bool before = memory.used();
  what(memory);
  if (memory.used()) return;
  if (before) {
    counted_[memory.node.where.device] -= memory.node.bytes;
    callback_(MemoryChange::went,
              allocator_.forget(Kind::graph, memory.node.address, memory.serial));
  }
  if (memory.graph == none) memories_.erase(it);
}

void GraphMemory::fit(std::uint16_t device, std::uint64_t bytes, Number but) {
  while (counted_[device] > bytes) {
    auto first = memories_.end();
    for (auto it = memories_.begin(); it != memories_.end(); ++it) {
      const Memory& memory = it->second;
      if (memory.node.where.device != device || !memory.idle()) continue;
      if (but != none && memory.graph == but) continue;
      if (first == memories_.end() || memory.taken < first->second.taken) first = it;
    }
    if (first == memories_.end()) return;
    change(first, [](Memory& memory) { memory.taken = none; });
  }
}

void GraphMemory::take(Number number, Bytes& promised, const Bytes& mapped) {
  const Graph& graph = graphs_.at(number);
  Bytes more{};
  for (const Address address : graph.allocations) {
    const Memory& memory = memories_.at(address);
    if (!memory.used()) more[memory.node.where.device] += memory.node.bytes;
  }
  for (std::uint16_t device = 0; device < kMaxDevices; ++device) {
    const std::uint64_t room = mapped[device];
    if (more[device] != 0) fit(device, room - std::min(room, more[device]), number);
  }
  ++newest_;
  for (const Address address : graph.allocations) {
    Memory& memory = memories_.at(address);
    if (!memory.used()) {
      const GraphNodeMemory& node = memory.node;
      std::uint64_t& room = promised[node.where.device];
      const Promise promise{
          .device = node.where.device, .bytes = std::min(room, node.bytes), .kind = Kind::graph};
      room -= promise.bytes;
      counted_[node.where.device] += node.bytes;
      releases_.end_before(allocator_, node.where.kind, node.address, node.bytes);
      const Outcome came =
          allocator_.adopt(node.where, node.address, node.bytes, node.tag, promise);
      memory.serial = came.serial;
      callback_(MemoryChange::came, came);
    }
    memory.taken = newest_;
  }
}

void GraphMemory::end_promises(const Bytes& promised) noexcept {
  for (std::uint16_t device = 0; device < kMaxDevices; ++device) {
    if (promised[device] != 0) {
      allocator_.end_promise({.device = device, .bytes = promised[device], .kind = Kind::graph});
    }
  }
}

void GraphMemory::uploaded(CUgraphExec executable, Bytes promised, const Bytes& mapped) noexcept {
  const SystemLock lock(mutex_);
  const Number number = find_in(executables_, executable).graph;
  if (graphs_.contains(number)) take(number, promised, mapped);
  end_promises(promised);
}

void GraphMemory::launched(CUgraphExec executable, Bytes promised, const Bytes& mapped) noexcept {
  const SystemLock lock(mutex_);
  const auto graph = graphs_.find(find_in(executables_, executable).graph);
  if (graph != graphs_.end()) {
    take(graph->first, promised, mapped);
    for (const Address address : graph->second.allocations) {
      Memory& memory = memories_.at(address);
      if (!memory.freed_inside) memory.left = newest_;
    }
    for (const Address address : graph->second.frees) {
      const auto it = memories_.find(address);
      if (it != memories_.end()) change(it, [](Memory& memory) { memory.left = none; });
    }
  }
  end_promises(promised);
}

GraphMemory::Number GraphMemory::left_behind(Address address) const noexcept {
  const SystemLock lock(mutex_);
  const auto it = memories_.find(address);
  return it != memories_.end() ? it->second.left : none;
}

void GraphMemory::freed(Address address, Number number) noexcept {
  const SystemLock lock(mutex_);
  const auto it = memories_.find(address);
  if (it == memories_.end() || it->second.left != number) return;
  change(it, [](Memory& memory) { memory.left = none; });
}

void GraphMemory::trimmed(std::uint16_t device, std::uint64_t mapped) noexcept {
  const SystemLock lock(mutex_);
  fit(device, mapped, none);
}

GraphMemory::Number GraphMemory::number_of(CUgraph graph) const noexcept {
  const SystemLock lock(mutex_);
  return find_in(handles_, graph);
}

GraphMemory::Number GraphMemory::number_of(CUgraphExec executable) const noexcept {
  const SystemLock lock(mutex_);
  return find_in(executables_, executable).number;
}

// Removes a holder. Without holders the nodes are gone, but not the memory that launches took.
void GraphMemory::release(Number number) {
  const auto graph = graphs_.find(number);
  if (graph == graphs_.end() || --graph->second.holders > 0) return;
  for (const Address address : graph->second.allocations) {
    change(memories_.find(address), [](Memory& memory) { memory.graph = none; });
  }
  graphs_.erase(graph);
}

// A moved child graph ends with its parent, and so does its handle.
void GraphMemory::ended(CUgraph, Number number) noexcept {
  const SystemLock lock(mutex_);
  std::erase_if(handles_, [number](const auto& handle) { return handle.second == number; });
  release(number);
}

void GraphMemory::end(Executables::iterator it) {
  const Number number = it->second.graph;
  executables_.erase(it);
  release(number);
}

void GraphMemory::ended(CUgraphExec executable, Number number) noexcept {
  const SystemLock lock(mutex_);
  const auto it = executables_.find(executable);
  if (it != executables_.end() && it->second.number == number) end(it);
}

}  // namespace vramscope
