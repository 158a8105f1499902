// Memory of graphs: its addresses are fixed when a node is made, its bytes come from the device
// when the graph is launched.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "allocator/base/place.h"
#include "reporter/view/trial/granules.h"
#include "test/simulator/device/engine.h"
#include "test/simulator/device/shadow_memory.h"
#include "test/simulator/device/simulated_device.h"
#include "test/simulator/device/vendor.h"

namespace vramscope::simulator {

// For one device: the addresses for nodes, and the physical memory that the driver keeps for
// graphs. Work that runs in order on one stream shares physical memory. The driver keeps the memory
// until a trim, even if graphs and executables are gone (programming guide 16.4.2, 16.5, 16.6).
// Threads: any.
class GraphMemory {
 public:
  GraphMemory(SimulatedDevice& accounts, std::uint64_t capacity)
      : capacity_(capacity), accounts_(accounts) {}
  ~GraphMemory() { delete shadow_.load(); }

  // Returns an address for a node, to be given back with give_address, or nothing if the device has
  // too few.
  [[nodiscard]] std::optional<Address> take_address(std::uint64_t bytes);
  void give_address(Address start, std::uint64_t bytes);
  [[nodiscard]] bool contains(Address address) const;
  [[nodiscard]] std::byte* bytes_at(Address start, std::uint64_t bytes);
  void discard(Address start, std::uint64_t bytes);

  // Maps at least this many bytes for the work of a stream, given by its id. Memory that other
  // streams have and do not use is taken if needed.
  [[nodiscard]] Status map(std::uint64_t stream, std::uint64_t bytes);
  void launched(std::uint64_t stream, Point last);
  // leave(): a launch left this many of those bytes allocated, which no other launch may use.
  // take_back(): those bytes were freed.
  void leave(std::uint64_t stream, std::uint64_t bytes);
  void take_back(std::uint64_t stream, std::uint64_t bytes);
  // Gives memory that is neither left allocated nor awaited by a launch back to the device.
  void trim();

  [[nodiscard]] std::optional<std::uint64_t> attribute(CUgraphMem_attribute name) const;
  // Resets high-water marks only, to the present values.
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
  std::uint64_t left_ = 0;                   // bytes left allocated by launches
  std::uint64_t used_ = 0;                   // bytes of all regions, which are used and reserved
  std::uint64_t used_high_ = 0;
  std::uint64_t reserved_high_ = 0;
};

// The allocation of one allocation node, in its graph and in every copy of it. It ends with the
// last node that refers to it, or later with the free of memory that a launch left allocated.
struct GraphAllocation {
  GraphAllocation(int device, Address start, std::uint64_t bytes)
      : device(device), start(start), bytes(bytes) {}
  GraphAllocation(const GraphAllocation&) = delete;
  GraphAllocation& operator=(const GraphAllocation&) = delete;
  ~GraphAllocation();

  const int device;
  const Address start;
  const std::uint64_t bytes;
  std::vector<CUmemAccessDesc> access;  // as requested
  CUgraph owner = nullptr;
  CUgraph freed_in = nullptr;  // the graph that has a free node for it
  bool mapped = false;         // left allocated by a launch; in the memory table
  std::uint64_t stream = 0;    // of that launch
  // Returns the bytes that it takes: whole granules (cuda-python test_cuda.py,
  // test_cuda_graphMem_attr: a node of one byte uses all that is reserved).
  [[nodiscard]] std::uint64_t taken_bytes() const { return round_up(bytes, kGranule); }
};

// Returns null if the device has no address left.
std::shared_ptr<GraphAllocation> make_graph_allocation(int device, std::uint64_t bytes);
// Returns the allocation of a graph that starts here, in use or not.
[[nodiscard]] std::shared_ptr<GraphAllocation> graph_allocation_at(Address start);
[[nodiscard]] bool is_graph_memory(Address start, std::uint64_t bytes);
// A launch into the stream leaves the allocation mapped. A free outside its graph unmaps it: at
// once for the program, and its bytes with finish_free when the free is done.
void map_graph_allocation(const std::shared_ptr<GraphAllocation>& allocation, std::uint64_t stream);
// `stream` is that of the launch: the same graph may be launched again before the free is done.
struct UnmappedAllocation {
  std::shared_ptr<GraphAllocation> allocation;
  std::uint64_t stream;
};
[[nodiscard]] std::optional<UnmappedAllocation> unmap_graph_allocation(Address start);
void finish_free(const UnmappedAllocation& unmapped);

}  // namespace vramscope::simulator
