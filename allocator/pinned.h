// Pinned serves pinned memory under Policy::native_safe: blocks of whole pages that are cut from
// segments. Under PyTorch's policy Dedicated serves pinned memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>

#include "allocator/base/mutex.h"
#include "allocator/caching_allocator.h"
#include "allocator/pending_frees.h"
#include "allocator/place_memory.h"
#include "allocator/pool/block_table.h"
#include "allocator/pool/pool.h"

namespace vramscope {

struct PinnedSegment {
  std::uint64_t bytes = 0;
  BlockIndex first = kNoBlock;  // the same record while the segment exists
  std::uint16_t slot = 0;
  PoolClass pool = PoolClass::large;
  std::uint32_t listed = 0;  // slot of ListedSegments
};

// Its blocks are in a table of their own: host addresses lie between those of devices, and a free
// of device memory must not find them. Every function that takes an Outcome unlocks, except
// hand_out(). Threads: one at a time.
class CachingAllocator::Pinned {
 public:
  using Segments = std::map<Address, PinnedSegment>;

  Pinned(LiveMemory* live, Policy policy)
      : is_cut_(policy == Policy::native_safe),
        blocks_({live, LivePart::pinned_blocks}, {live, LivePart::pinned_block_lives}) {}

  // Whether pinned memory is cut from segments, instead of kept in PyTorch's buckets.
  [[nodiscard]] bool is_cut() const { return is_cut_; }

  // The fast allocation and the fast free by the function for pinned memory: one critical section,
  // no step that unlocks. All other cases take the longer way, under both policies.
  [[nodiscard]] static Outcome allocate_fast(State& state, const Request& request) noexcept;
  [[nodiscard]] static Outcome free_fast(State& state, Address address) noexcept;

  void allocate(State& state, const Request& request, Outcome& out) VRAMSCOPE_REQUIRES(state);
  // Adds a segment from the backend as one free block, for a block of `rounded` bytes. Returns none
  // if there is no room for its record.
  [[nodiscard]] AnyBlock add_segment(State& state, Place where, std::uint64_t rounded,
                                     Address address, std::uint64_t bytes)
      VRAMSCOPE_REQUIRES(state);
  // Frees and merges a live or pending block: see State::make_reusable().
  void put_back(State& state, const AnyBlock& block, std::uint64_t life, Waits::Number freed,
                Outcome& out) VRAMSCOPE_REQUIRES(state);

  // Give the idle segments of a place, or of all, back. They stop at the first refusal.
  void release_idle(State& state, Place where, Outcome& out) VRAMSCOPE_REQUIRES(state);
  void release_all_idle(State& state, Outcome& out) VRAMSCOPE_REQUIRES(state);
  // Drops a place that no longer exists: see CachingAllocator::forget_place().
  void forget(State& state, Place where) VRAMSCOPE_REQUIRES(state);

  [[nodiscard]] BlockTable& blocks() { return blocks_; }
  [[nodiscard]] const BlockTable& blocks() const { return blocks_; }
  [[nodiscard]] const Places<PinnedPlace>& places() const { return places_; }
  [[nodiscard]] const Segments& segments() const { return segments_; }
  [[nodiscard]] Place place_of(BlockIndex block) const {
    return places_[blocks_.life(block).place]->place;
  }
  // Returns the pending frees of a place; nullptr if it does not exist.
  [[nodiscard]] PendingFrees* pending_of(Place where) noexcept {
    PinnedPlace* const place = places_.find(where);
    return place != nullptr ? &place->pending : nullptr;
  }
  // Return the segment or the block around an address; end() or kNoBlock if there is none.
  [[nodiscard]] Segments::const_iterator segment_around(Address address) const noexcept;
  [[nodiscard]] BlockIndex block_around(Address address) const noexcept;
  [[nodiscard]] bool overlaps(Address address, std::uint64_t bytes) const noexcept;
  [[nodiscard]] std::uint64_t reserved() const { return reserved_; }
  [[nodiscard]] std::uint64_t held() const { return held_; }

 private:
  // Adds a new place. Returns nullptr if memory is exhausted.
  [[nodiscard]] PinnedPlace* add(Place where) noexcept;
  // Makes room for two more records and one more address, and for all blocks as free ones. Returns
  // false if memory is exhausted.
  [[nodiscard]] bool prepare() noexcept;
  // Whether a segment has neither a live nor a pending block.
  [[nodiscard]] bool is_idle(const PinnedSegment& segment) const noexcept {
    return blocks_[segment.first].is_free() && !blocks_[segment.first].is_part();
  }
  // Returns how many requests have needed a new segment since this one became idle.
  [[nodiscard]] std::uint32_t age(const PinnedSegment& segment) const noexcept {
    return places_[segment.slot]->pools.age(blocks_[segment.first]);
  }
  // Returns the segment that has been idle longest, the lowest address among equals; end() if none
  // is idle.
  [[nodiscard]] Segments::iterator oldest_idle() noexcept;

  [[nodiscard]] Outcome hand_back(State& state, BlockIndex block, std::uint64_t wait_ns)
      VRAMSCOPE_REQUIRES(state);
  [[nodiscard]] PinnedPlace* open(State& state, Place where) VRAMSCOPE_REQUIRES(state);
  [[nodiscard]] bool may_cut() const;
  [[nodiscard]] Pools::Found find(const PinnedPlace& place, std::uint64_t rounded) const;
  void hand_out(State& state, PinnedPlace& place, const Pools::Found& found, std::uint64_t rounded,
                Outcome& out) VRAMSCOPE_REQUIRES(state);
  void serve_new(State& state, std::uint64_t rounded, Outcome& out) VRAMSCOPE_REQUIRES(state);
  void make_room(State& state, std::uint64_t rounded, std::uint64_t bytes, Outcome& out)
      VRAMSCOPE_REQUIRES(state);
  void merge(const AnyBlock& block);
  void forget_blocks(State& state, const PinnedPlace& place, const PinnedSegment& segment)
      VRAMSCOPE_REQUIRES(state);
  [[nodiscard]] Segments::node_type set_aside(State& state, Segments::iterator it)
      VRAMSCOPE_REQUIRES(state);
  // Returns false if the backend and the allocator keep the segment.
  bool give_back(State& state, Segments::iterator it, Outcome& out) VRAMSCOPE_REQUIRES(state);

  const bool is_cut_;
  BlockTable blocks_;
  Places<PinnedPlace> places_;
  Segments segments_;
  std::uint64_t reserved_ = 0;    // bytes of the segments
  std::uint64_t held_ = 0;        // bytes of blocks that are not free
  std::uint64_t most_held_ = 0;   // the peak of held_
  std::uint64_t host_bytes_ = 0;  // total memory of the host; 0 before the first place
};

}  // namespace vramscope
