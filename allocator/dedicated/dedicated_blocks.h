// Dedicated blocks are those that have a segment to themselves, pinned host memory and device
// memory that others may be given; they are found by address, and the free ones by size.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "allocator/books/accounts.h"
#include "allocator/ground/place.h"
#include "allocator/ground/size_policy.h"
#include "allocator/ground/snapshot.h"
#include "allocator/pool/waits.h"

namespace vramscope {

// A block that is never cut and never merged.
struct DedicatedBlock {
  Place where;
  Address address = 0;
  std::uint64_t bytes = 0;
  std::uint64_t requested = 0;  // of this life; a free block keeps what its last life asked for
  std::uint64_t serial = 0;     // number of the allocation
  Tag tag = 0;                  // while live
  BlockState state = BlockState::inactive;
  PoolClass pool = PoolClass::large;  // what it counts as; device memory only
  bool exported = false;              // others may reach it: never reused, goes back when free
  std::uint32_t listed = 0;           // slot of ListedSegments
  std::uint32_t number = 0;           // of its free, while that is pending
  Waits::Number freed = 0;            // when it was freed
  DedicatedBlock* next = nullptr;     // in its bucket, or in the order of pending frees

  [[nodiscard]] bool is_live() const { return state == BlockState::active_allocated; }
  [[nodiscard]] CountedBlock counted() const { return {tag, pool, bytes, requested}; }
};

// Mechanism only. Free blocks lie in buckets. Device memory has one for each place and exact size,
// and the block freed first is on top: whoever used it last has probably finished. Pinned memory
// has one for each place and power of two, with the block freed last on top, as PyTorch's: it is
// the likeliest to be warm. Blocks stay where they are while they exist.
// Threads: one at a time.
class DedicatedBlocks {
 public:
  // A new block, not in any bucket, with room to put it into one later. nullptr: out of memory, or
  // a part of the range is a block's already.
  [[nodiscard]] DedicatedBlock* add(Place where, Address address, std::uint64_t bytes) noexcept;
  // The end of a block that is in no bucket.
  void remove(DedicatedBlock& block) noexcept;
  // The same in two steps: between them nobody finds it, and it can come back.
  using Node = std::map<Address, DedicatedBlock>::node_type;
  [[nodiscard]] Node set_aside(DedicatedBlock& block) noexcept;
  void destroy(Node node) noexcept;
  // It is the first that will be taken of its bucket. False: its range is another's by now.
  [[nodiscard]] bool restore(Node& node) noexcept;

  // The first block of the bucket for `bytes` that is large enough and not exported, taken out.
  [[nodiscard]] DedicatedBlock* take(Place where, std::uint64_t bytes) noexcept;
  // Any block from the buckets of a place; nullptr: they are empty.
  [[nodiscard]] DedicatedBlock* take_any(Place where) noexcept;
  void put(DedicatedBlock& block) noexcept;

  [[nodiscard]] DedicatedBlock* find(Address address) noexcept;  // exact
  // The one that the address lies in.
  [[nodiscard]] DedicatedBlock* find_around(Address address) noexcept;
  [[nodiscard]] const DedicatedBlock* find_around(Address address) const noexcept;
  [[nodiscard]] bool overlaps(Address address, std::uint64_t bytes) const noexcept;

  // Bytes of the blocks in buckets.
  [[nodiscard]] std::uint64_t idle_bytes(std::uint16_t device) const { return idle_[device]; }
  // Granules of 2 MiB in which free blocks of a device lie, and no others; pending ones may count
  // as free.
  enum class Pending : bool { in_use, free };
  [[nodiscard]] std::uint64_t idle_granules(std::uint16_t device, Pending pending) const noexcept;

  [[nodiscard]] const std::map<Address, DedicatedBlock>& all() const { return blocks_; }

 private:
  using Key = std::pair<std::uint32_t, std::uint64_t>;  // context, bytes
  struct Bucket {
    DedicatedBlock* first = nullptr;
    DedicatedBlock* last = nullptr;
    std::size_t blocks = 0;  // that belong here, live ones included: the last takes it along
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
