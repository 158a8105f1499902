// Dedicated blocks have a segment to themselves: pinned host memory, and device memory that can be
// exported. They are found by address, and the free ones by size.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "allocator/base/place.h"
#include "allocator/base/size_policy.h"
#include "allocator/base/snapshot.h"
#include "allocator/books/accounts.h"
#include "allocator/pool/waits.h"

namespace vramscope {

// A block that is never cut and never merged.
struct DedicatedBlock {
  Place where;
  Address address = 0;
  std::uint64_t bytes = 0;
  std::uint64_t requested = 0;  // bytes; a free block keeps those of its last allocation
  std::uint64_t serial = 0;     // number of the allocation
  Tag tag = 0;                  // while live
  BlockState state = BlockState::inactive;
  PoolClass pool = PoolClass::large;  // the pool that counts it; device memory only
  bool exported = false;              // others may access it: never reused, goes back when freed
  std::uint32_t listed = 0;           // slot of ListedSegments
  std::uint32_t number = 0;           // of its free, while pending
  Waits::Number freed = 0;            // the newest wait that had begun when it was freed
  DedicatedBlock* next = nullptr;     // in its bucket, or among pending frees

  [[nodiscard]] bool is_live() const { return state == BlockState::active_allocated; }
  [[nodiscard]] CountedBlock counted() const { return {tag, pool, bytes, requested}; }
};

// This class makes no decisions. Free blocks lie in buckets. Device memory has a bucket for each
// place and exact size, and takes the block that was freed first, whose last use has probably
// finished. Pinned memory has a bucket for each place and power of two, and takes the block that
// was freed last, which is probably still in the cache, as PyTorch does. Pointers to blocks stay
// valid while the blocks exist.
// Threads: one at a time.
class DedicatedBlocks {
 public:
  // Adds a block that is in no bucket, and makes room to put it into one later. Returns nullptr if
  // memory is exhausted or the range overlaps a block.
  [[nodiscard]] DedicatedBlock* add(Place where, Address address, std::uint64_t bytes) noexcept;
  // Removes a block that is in no bucket.
  void remove(DedicatedBlock& block) noexcept;
  // The same in two steps. Between them the block cannot be found, and can be restored.
  using Node = std::map<Address, DedicatedBlock>::node_type;
  [[nodiscard]] Node set_aside(DedicatedBlock& block) noexcept;
  void destroy(Node node) noexcept;
  // Restores a block as the next one that its bucket gives. Returns false if its range overlaps a
  // block by now.
  [[nodiscard]] bool restore(Node& node) noexcept;

  // Takes the first block out of the bucket for `bytes` that is large enough and not exported.
  [[nodiscard]] DedicatedBlock* take(Place where, std::uint64_t bytes) noexcept;
  // Takes any block out of the buckets of a place; nullptr if they are empty.
  [[nodiscard]] DedicatedBlock* take_any(Place where) noexcept;
  void put(DedicatedBlock& block) noexcept;

  [[nodiscard]] DedicatedBlock* find(Address address) noexcept;  // exact
  // Finds the block around an address.
  [[nodiscard]] DedicatedBlock* find_around(Address address) noexcept;
  [[nodiscard]] const DedicatedBlock* find_around(Address address) const noexcept;
  [[nodiscard]] bool overlaps(Address address, std::uint64_t bytes) const noexcept;

  // Returns the bytes of a device's blocks in buckets.
  [[nodiscard]] std::uint64_t idle_bytes(std::uint16_t device) const { return idle_[device]; }
  // Returns the number of 2 MiB granules that hold only free blocks of a device. Pending blocks may
  // count as free.
  enum class Pending : bool { in_use, free };
  [[nodiscard]] std::uint64_t idle_granules(std::uint16_t device, Pending pending) const noexcept;

  [[nodiscard]] const std::map<Address, DedicatedBlock>& all() const { return blocks_; }

 private:
  using Key = std::pair<std::uint32_t, std::uint64_t>;  // context, bytes
  struct Bucket {
    DedicatedBlock* first = nullptr;
    DedicatedBlock* last = nullptr;
    std::size_t blocks = 0;  // that belong here, including live ones; the bucket goes with the last
  };

  template <class Wanted>
  [[nodiscard]] DedicatedBlock* take_first(Bucket& bucket, Wanted wanted) noexcept;
  void put_first(Bucket& bucket, DedicatedBlock& block) noexcept;
  [[nodiscard]] static Key key_of(Place where, std::uint64_t bytes);

  std::map<Address, DedicatedBlock> blocks_;
  std::map<Key, Bucket> buckets_;
  std::array<std::uint64_t, kMaxDevices> idle_{};
};

}  // namespace vramscope
