// The memory of graphs, remembered: what their allocation nodes ask for, and when it is there.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <vector>

#include "allocator/caching_allocator.h"
#include "allocator/ground/capability.h"
#include "interpose/driver/releases.h"
#include "interpose/ground/event_of.h"
#include "interpose/table/functions.h"

namespace vramscope {

// The memory of one allocation node. Nodes of one graph may share an address, one after the other.
struct GraphNodeMemory {
  Place where;
  Address address = 0;
  std::uint64_t bytes = 0;
  Tag tag = 0;
};

// A node takes nothing. Its memory is adopted when an executable that was made from its graph is
// launched or uploaded. From then on the driver keeps it, also without its graph, until
// cuDeviceGraphMemTrim, and shares it between graphs that do not run at the same time: it counts as
// that of the last one launched, and the sum follows what the driver says is mapped (programming
// guide 16.5 and 16.6). What no node of the same graph frees a launch leaves behind: that is shared
// with no other until the program frees it or launches a graph that does (cuda.h,
// cuGraphAddMemAllocNode).
// Threads: any. Nothing here calls the driver. What our own memory does not suffice for is left
// out.
class GraphMemory {
 public:
  GraphMemory(CachingAllocator& allocator, Releases& releases)
      : allocator_(allocator), releases_(releases) {}

  // For all memory that comes and goes here. Before the first node.
  void on_side_effect(SideEffectCallback callback) noexcept { callback_ = callback; }

  // Has any graph had memory nodes? Without the lock.
  [[nodiscard]] bool any() const noexcept { return any_.load(std::memory_order_acquire); }

  // A node of `graph` allocates, or frees what starts at `address`. False: out of memory.
  [[nodiscard]] bool allocates(CUgraph graph, const GraphNodeMemory& memory) noexcept;
  [[nodiscard]] bool frees(CUgraph graph, Address address) noexcept;
  // `child` became a node of `parent`, which owns its memory now and ends its handle.
  void moved(CUgraph child, CUgraph parent) noexcept;
  // What the handle was before has ended.
  void instantiated(CUgraphExec executable, CUgraph graph) noexcept;

  // Bytes by device.
  using Bytes = std::array<std::uint64_t, kMaxDevices>;
  // Nothing known of what the driver has mapped.
  static constexpr std::uint64_t unknown = ~std::uint64_t{0};
  // What the nodes of its graph ask for.
  [[nodiscard]] Bytes sizes(CUgraph graph) const noexcept;
  [[nodiscard]] Bytes sizes(CUgraphExec executable) const noexcept;
  // What a launch or upload takes that neither is there yet nor lies idle with other graphs.
  [[nodiscard]] Bytes needs(CUgraph graph) const noexcept;
  [[nodiscard]] Bytes needs(CUgraphExec executable) const noexcept;
  // It succeeded, and the driver now has `mapped` bytes for graphs, or unknown. Room that was
  // promised for it is given up.
  void uploaded(CUgraphExec executable, Bytes promised, const Bytes& mapped) noexcept;
  void launched(CUgraphExec executable, Bytes promised, const Bytes& mapped) noexcept;

  // Of memory that a launch left behind: its number, which no other launch's has; else none. To be
  // asked before the driver frees it, and told when it did.
  using Number = std::uint64_t;
  static constexpr Number none = 0;
  [[nodiscard]] Number left_behind(Address address) const noexcept;
  void freed(Address address, Number number) noexcept;

  // The idle memory of a device went back to it: the driver has `mapped` bytes for graphs still.
  void trimmed(std::uint16_t device, std::uint64_t mapped) noexcept;

  // To be asked before the driver destroys it: another thread may get the handle at once.
  [[nodiscard]] Number number_of(CUgraph graph) const noexcept;
  [[nodiscard]] Number number_of(CUgraphExec executable) const noexcept;
  void ended(CUgraph graph, Number number) noexcept;
  void ended(CUgraphExec executable, Number number) noexcept;

 private:
  struct Memory {
    GraphNodeMemory node;
    Number graph = none;        // that has the node, or an executable of it
    bool freed_inside = false;  // by a node of the same graph
    Number taken = none;        // by which launch or upload last; none: not there
    Number left = none;         // behind, by which launch
    std::uint64_t serial = 0;   // of the record of it: later ones there are of other memory
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
    Number graph = none;  // that it was made from
  };
  using Executables = std::map<CUgraphExec, Executable>;
  using Memories = std::map<Address, Memory>;

  Number number_for(CUgraph graph) VRAMSCOPE_REQUIRES(mutex_);
  void replace(Memories::iterator it) VRAMSCOPE_REQUIRES(mutex_);
  [[nodiscard]] Bytes sizes_of(Number graph) const VRAMSCOPE_REQUIRES(mutex_);
  [[nodiscard]] Bytes needs_of(Number graph) const VRAMSCOPE_REQUIRES(mutex_);
  void take(Number graph, Bytes& promised, const Bytes& mapped) VRAMSCOPE_REQUIRES(mutex_);
  // Idle memory of other graphs than `but` goes, what was taken first at first, until what counts
  // on the device fits into so many bytes.
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
  Bytes counted_ VRAMSCOPE_GUARDED_BY(mutex_){};  // of all memory that is there
};

}  // namespace vramscope
