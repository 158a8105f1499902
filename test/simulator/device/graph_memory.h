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
#include "test/simulator/device/granules.h"
#include "test/simulator/device/shadow_memory.h"
#include "test/simulator/device/simulated_device.h"
#include "test/simulator/device/vendor.h"

namespace vramscope::simulator {

// Of one device. The accounts are charged in whole granules and keep them until a trim.
// Threads: any.
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

  // Begins and ends the use of that many bytes of the device.
  [[nodiscard]] Status use(std::uint64_t bytes);
  void end_use(std::uint64_t bytes);
  // Gives what is not in use back to the device.
  void trim();

  [[nodiscard]] std::optional<std::uint64_t> attribute(CUgraphMem_attribute name) const;
  // High-water marks only, down to what is there now.
  [[nodiscard]] bool reset(CUgraphMem_attribute name);

 private:
  struct Chunk {
    Address start;
    std::uint64_t bytes;
  };
  const std::uint64_t capacity_;
  SimulatedDevice& accounts_;
  std::atomic<ShadowMemory*> shadow_{nullptr};  // made with the first address
  mutable std::mutex mutex_;                    // guards everything below
  std::unique_ptr<Granules> addresses_;
  std::vector<Chunk> chunks_;
  std::uint64_t used_ = 0;
  std::uint64_t used_high_ = 0;
  std::uint64_t reserved_ = 0;
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
  int users = 0;               // executables that hold the bytes, and one when mapped
};

// Null when the device has no address left.
std::shared_ptr<GraphAllocation> make_graph_allocation(int device, std::uint64_t bytes);
// The allocation of a graph that starts here, in use or not.
[[nodiscard]] std::shared_ptr<GraphAllocation> graph_allocation_at(Address start);
[[nodiscard]] bool is_graph_memory(Address start, std::uint64_t bytes);
// One more, one less user of the bytes behind it.
[[nodiscard]] Status add_user(GraphAllocation& allocation);
void remove_user(GraphAllocation& allocation);
// A launch leaves the allocation behind, and with it one user; a free outside its graph takes it
// away again, at once for the program, and the user with it when the free is done.
[[nodiscard]] Status map_graph_allocation(const std::shared_ptr<GraphAllocation>& allocation);
[[nodiscard]] std::shared_ptr<GraphAllocation> unmap_graph_allocation(Address start);

}  // namespace vramscope::simulator
