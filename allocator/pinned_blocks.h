// Every block of pinned host memory of ours: by address, and the free ones by size.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>

#include "allocator/place.h"
#include "allocator/snapshot.h"
#include "allocator/waits.h"

namespace vramscope {

// A block of pinned memory is a whole segment: it is never cut and never merged.
struct PinnedBlock {
  Place where;
  Address address = 0;
  std::uint64_t bytes = 0;
  std::uint64_t requested = 0;  // of this life; a free block keeps what its last life asked for
  std::uint64_t serial = 0;     // number of the allocation
  Tag tag = 0;                  // while live
  BlockState state = BlockState::inactive;
  std::uint32_t number = 0;     // of its free, while that is pending
  Waits::Number freed = 0;      // when it was freed
  PinnedBlock* next = nullptr;  // in its bucket, or in the order of pending frees

  [[nodiscard]] bool is_live() const { return state == BlockState::active_allocated; }
};

// Mechanism only. Free blocks lie in buckets, one for each place and power of two, the one freed
// last on top: it is the likeliest to be warm. Blocks stay where they are while they exist.
// Threads: one at a time.
class PinnedBlocks {
 public:
  // A new block, not in any bucket, with room to put it into one later. nullptr: out of memory, or
  // a part of the range is a block's already.
  [[nodiscard]] PinnedBlock* add(Place where, Address address, std::uint64_t bytes) noexcept;
  // The end of a block that is in no bucket.
  void remove(PinnedBlock& block) noexcept { blocks_.erase(blocks_.find(block.address)); }

  // The block of the bucket for `bytes` that was put there last and is large enough, taken out.
  [[nodiscard]] PinnedBlock* take(Place where, std::uint64_t bytes) noexcept;
  // Any block from the buckets of a place; nullptr: they are empty.
  [[nodiscard]] PinnedBlock* take_any(Place where) noexcept;
  void put(PinnedBlock& block) noexcept;

  [[nodiscard]] PinnedBlock* find(Address address) noexcept;                     // exact
  [[nodiscard]] const PinnedBlock* find_around(Address address) const noexcept;  // or inside

  // Frees that nothing has proved complete yet, in their order.
  void add_pending(PinnedBlock& block) noexcept;
  [[nodiscard]] bool has_pending(Place where) const noexcept;
  // The first of a place that is no younger than the free numbered `newest`, or is the one numbered
  // `own`, taken out; nullptr: none.
  [[nodiscard]] PinnedBlock* take_pending(Place where, std::uint32_t newest,
                                          std::uint32_t own) noexcept;
  [[nodiscard]] std::uint32_t newest_pending() const { return newest_pending_; }
  // A number that is older than every free still pending.
  [[nodiscard]] std::uint32_t before_all() const { return newest_pending_ + (1U << 31); }

  [[nodiscard]] const std::map<Address, PinnedBlock>& all() const { return blocks_; }
  void clear() noexcept;

 private:
  using Bucket = std::tuple<std::uint32_t, unsigned>;  // context, power of two

  [[nodiscard]] static Bucket bucket_of(Place where, std::uint64_t bytes);

  std::map<Address, PinnedBlock> blocks_;
  std::map<Bucket, PinnedBlock*> newest_;
  PinnedBlock* first_pending_ = nullptr;
  PinnedBlock* last_pending_ = nullptr;
  std::uint32_t newest_pending_ = 0;
};

}  // namespace vramscope
