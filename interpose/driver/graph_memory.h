// GraphMemory tracks the memory of graphs: what their allocation nodes request, and when it exists.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <vector>

#include "allocator/base/capability.h"
#include "allocator/caching_allocator.h"
#include "interpose/base/event_of.h"
#include "interpose/driver/releases.h"
#include "interpose/table/functions.h"

namespace vramscope {

// The memory of one allocation node. Nodes of one graph may share an address, one after the other.
struct GraphNodeMemory {
  Place where;
  Address address = 0;
  std::uint64_t bytes = 0;
  Tag tag = 0;
};

// A node takes no memory. Its memory is adopted when an executable of its graph is launched or
// uploaded. From then on the driver keeps it until cuDeviceGraphMemTrim, even without the graph,
// and shares it between graphs that do not run at the same time. It counts as memory of the last
// launched graph, and the sum follows what the driver says is mapped (programming guide 16.5 and
// 16.6). A launch leaves memory behind that no node of the same graph frees. That memory is not
// shared until the program, or another graph, frees it (cuda.h, cuGraphAddMemAllocNode).
// Threads: any. It does not call the driver. If our memory is exhausted, figures are incomplete.
class GraphMemory {
 public:
  GraphMemory(CachingAllocator& allocator, Releases& releases)
      : allocator_(allocator), releases_(releases) {}

  // Sets the receiver of all changes of memory. Call it before the first node.
  void on_side_effect(SideEffectCallback callback) noexcept { callback_ = callback; }

  // Whether any graph has had memory nodes. Takes no lock.
  [[nodiscard]] bool any() const noexcept { return any_.load(std::memory_order_acquire); }

  // Note that a node of `graph` allocates memory, or frees the memory at `address`. Return false if
  // memory is exhausted.
  [[nodiscard]] bool allocates(CUgraph graph, const GraphNodeMemory& memory) noexcept;
  [[nodiscard]] bool frees(CUgraph graph, Address address) noexcept;
  // Notes that `child` became a node of `parent`, which owns its memory now and ends its handle.
  void moved(CUgraph child, CUgraph parent) noexcept;
  // Notes a new executable. An earlier one with the same handle has ended.
  void instantiated(CUgraphExec executable, CUgraph graph) noexcept;

  // Bytes by device.
  using Bytes = std::array<std::uint64_t, kMaxDevices>;
  // It is unknown how much the driver has mapped.
  static constexpr std::uint64_t unknown = ~std::uint64_t{0};
  // Return the bytes that the nodes of a graph request.
  [[nodiscard]] Bytes sizes(CUgraph graph) const noexcept;
  [[nodiscard]] Bytes sizes(CUgraphExec executable) const noexcept;
  // Return the bytes that a launch or upload takes in addition to existing memory and to idle
  // memory of other graphs.
  [[nodiscard]] Bytes needs(CUgraph graph) const noexcept;
  [[nodiscard]] Bytes needs(CUgraphExec executable) const noexcept;
  // Note that an upload or launch succeeded, and that the driver now has `mapped` bytes for graphs,
  // or unknown. They end the promise for it.
  void uploaded(CUgraphExec executable, Bytes promised, const Bytes& mapped) noexcept;
  void launched(CUgraphExec executable, Bytes promised, const Bytes& mapped) noexcept;

  // left_behind() returns the unique number of memory that a launch left behind, or none; call it
  // before the driver frees the memory, and freed() afterwards.
  using Number = std::uint64_t;
  static constexpr Number none = 0;
  [[nodiscard]] Number left_behind(Address address) const noexcept;
  void freed(Address address, Number number) noexcept;

  // Notes that a device's idle memory was trimmed, and that the driver still has `mapped` bytes for
  // graphs.
  void trimmed(std::uint16_t device, std::uint64_t mapped) noexcept;

  // Call number_of() before the driver destroys the graph or executable, since another thread may
  // get the handle at once.
  [[nodiscard]] Number number_of(CUgraph graph) const noexcept;
  [[nodiscard]] Number number_of(CUgraphExec executable) const noexcept;
  void ended(CUgraph graph, Number number) noexcept;
  void ended(CUgraphExec executable, Number number) noexcept;

 private:
  struct Memory {
    GraphNodeMemory node;
    Number graph = none;        // the graph that has the node
    bool freed_inside = false;  // by a node of the same graph
    Number taken = none;        // last launch or upload that took it; none: it does not exist
    Number left = none;         // launch that left it behind
    std::uint64_t serial = 0;   // of its record; later records at the address are of other memory
    [[nodiscard]] bool used() const noexcept { return taken != none; }
    [[nodiscard]] bool idle() const noexcept { return used() && left == none; }
  };
  struct Graph {
    std::uint64_t holders = 1;  // the graph itself and its executables
    std::vector<Address> allocations;
    std::vector<Address> frees;  // of other graphs' memory
  };
  struct Executable {
    Number number = none;
    Number graph = none;  // from which it was made
  };
  using Executables = std::map<CUgraphExec, Executable>;
  using Memories = std::map<Address, Memory>;

  Number number_for(CUgraph graph) VRAMSCOPE_REQUIRES(mutex_);
  void replace(Memories::iterator it) VRAMSCOPE_REQUIRES(mutex_);
  [[nodiscard]] Bytes sizes_of(Number graph) const VRAMSCOPE_REQUIRES(mutex_);
  [[nodiscard]] Bytes needs_of(Number graph) const VRAMSCOPE_REQUIRES(mutex_);
  void take(Number graph, Bytes& promised, const Bytes& mapped) VRAMSCOPE_REQUIRES(mutex_);
  // Drops idle memory of graphs other than `but`, the oldest first, until the device's sum is at
  // most `bytes`.
  void fit(std::uint16_t device, std::uint64_t bytes, Number but) VRAMSCOPE_REQUIRES(mutex_);
  void end_promises(const Bytes& promised) noexcept;
  template <class Change>
  void change(Memories::iterator it, Change what) VRAMSCOPE_REQUIRES(mutex_);
  void release(Number number) VRAMSCOPE_REQUIRES(mutex_);
  void end(Executables::iterator it) VRAMSCOPE_REQUIRES(mutex_);

  CachingAllocator& allocator_;
  Releases& releases_;
  SideEffectCallback callback_;
  std::atomic<bool> any_{false};
  mutable SystemMutex mutex_;  // taken before the allocator's
  Number newest_ VRAMSCOPE_GUARDED_BY(mutex_) = none;
  std::map<CUgraph, Number> handles_ VRAMSCOPE_GUARDED_BY(mutex_);
  Executables executables_ VRAMSCOPE_GUARDED_BY(mutex_);
  std::map<Number, Graph> graphs_ VRAMSCOPE_GUARDED_BY(mutex_);
  Memories memories_ VRAMSCOPE_GUARDED_BY(mutex_);
  Bytes counted_ VRAMSCOPE_GUARDED_BY(mutex_){};  // of all existing memory
};

}  // namespace vramscope
