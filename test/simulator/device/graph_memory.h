// Memory of graphs: addresses that are fixed when a node is made, bytes that a device gives when
// the graph is launched.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "allocator/ground/place.h"
#include "test/simulator/device/engine.h"
#include "test/simulator/device/granules.h"
#include "test/simulator/device/shadow_memory.h"
#include "test/simulator/device/simulated_device.h"
#include "test/simulator/device/vendor.h"

namespace vramscope::simulator {

// Of one device: addresses for nodes, and the physical memory that the driver keeps for graphs.
// What one stream runs one after the other shares physical memory; it stays with the driver until a
// trim, also when graphs and executables are gone (programming guide 16.4.2, 16.5, 16.6). Threads:
// any.
class GraphMemory {
 public:
  GraphMemory(SimulatedDevice& accounts, std::uint64_t capacity)
      : capacity_(capacity), accounts_(accounts) {}
  ~GraphMemory() { delete shadow_.load(); }

  // An address for a node, until give_address; nothing when the device has too few.
  [[nodiscard]] std::optional<Address> take_address(std::uint64_t bytes);
  void give_address(Address start, std::uint64_t bytes);
  [[nodiscard]] bool contains(Address address) const;
  [[nodiscard]] std::byte* bytes_at(Address start, std::uint64_t bytes);
  void discard(Address start, std::uint64_t bytes);

  // A stream, by its id, has at least so many bytes mapped for what it runs; what other streams
  // have and do not use gives way.
  [[nodiscard]] Status map(std::uint64_t stream, std::uint64_t bytes);
  void launched(std::uint64_t stream, Point last);
  // Of those, a launch left so many behind, which no other may use; and they were freed.
  void leave(std::uint64_t stream, std::uint64_t bytes);
  void take_back(std::uint64_t stream, std::uint64_t bytes);
  // Gives what is neither left behind nor awaited by a launch back to the device.
  void trim();

  [[nodiscard]] std::optional<std::uint64_t> attribute(CUgraphMem_attribute name) const;
  // High-water marks only, down to what is there now.
  [[nodiscard]] bool reset(CUgraphMem_attribute name);

 private:
  struct Region {
    std::uint64_t bytes = 0;  // whole granules
    Point last;               // the last launch that uses them
  };
  bool steal(std::uint64_t stream, std::uint64_t bytes);
  void note_high();
  const std::uint64_t capacity_;
  SimulatedDevice& accounts_;
  std::atomic<ShadowMemory*> shadow_{nullptr};  // made with the first address
  mutable std::mutex mutex_;                    // guards everything below
  std::unique_ptr<Granules> addresses_;
  std::map<std::uint64_t, Region> regions_;  // by stream
  std::uint64_t left_ = 0;                   // behind, by launches
  std::uint64_t used_ = 0;                   // both: what is mapped, and all that is reserved
  std::uint64_t used_high_ = 0;
  std::uint64_t reserved_high_ = 0;
};

// What one allocation node stands for, in its graph and in every copy of it. Ends with the last
// node that knows it, or later with the free of what a launch left behind.
struct GraphAllocation {
  GraphAllocation(int device, Address start, std::uint64_t bytes)
      : device(device), start(start), bytes(bytes) {}
  GraphAllocation(const GraphAllocation&) = delete;
  GraphAllocation& operator=(const GraphAllocation&) = delete;
  ~GraphAllocation();

  const int device;
  const Address start;
  const std::uint64_t bytes;
  std::vector<CUmemAccessDesc> access;  // as asked for
  CUgraph owner = nullptr;
  CUgraph freed_in = nullptr;  // the graph that has a free node for it
  bool mapped = false;         // left behind by a launch; in the memory table
  std::uint64_t stream = 0;    // of that launch
  // What it takes: whole granules (cuda-python test_cuda.py, test_cuda_graphMem_attr: a node of one
  // byte uses what is reserved).
  [[nodiscard]] std::uint64_t taken_bytes() const { return round_up(bytes, kGranule); }
};

// Null when the device has no address left.
std::shared_ptr<GraphAllocation> make_graph_allocation(int device, std::uint64_t bytes);
// The allocation of a graph that starts here, in use or not.
[[nodiscard]] std::shared_ptr<GraphAllocation> graph_allocation_at(Address start);
[[nodiscard]] bool is_graph_memory(Address start, std::uint64_t bytes);
// A launch into the stream leaves the allocation behind; a free outside its graph takes it away
// again, at once for the program, and its bytes with finish_free when the free is done.
void map_graph_allocation(const std::shared_ptr<GraphAllocation>& allocation, std::uint64_t stream);
// The stream is that of the launch: a launch of the same graph may follow before the free is done.
struct UnmappedAllocation {
  std::shared_ptr<GraphAllocation> allocation;
  std::uint64_t stream;
};
[[nodiscard]] std::optional<UnmappedAllocation> unmap_graph_allocation(Address start);
void finish_free(const UnmappedAllocation& unmapped);

}  // namespace vramscope::simulator
