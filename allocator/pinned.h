// Pinned memory of ours under Policy::native_safe: blocks of whole pages, cut from segments, proved
// unused, merged, and segments that go back. Under PyTorch's policy nothing here happens.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>

#include "allocator/caching_allocator.h"
#include "allocator/ground/mutex.h"
#include "allocator/pending_frees.h"
#include "allocator/place_memory.h"
#include "allocator/pool/block_table.h"
#include "allocator/pool/pool.h"

namespace vramscope {

struct PinnedSegment {
  std::uint64_t bytes = 0;
  BlockIndex first = kNoBlock;  // the same record all its life
  std::uint16_t slot = 0;
  PoolClass pool = PoolClass::large;
  std::uint32_t listed = 0;  // slot of ListedSegments
};

// Its blocks are in a table of their own: addresses of the host lie between those of devices, and
// who frees device memory must not find them. All that takes an Outcome unlocks, but for
// hand_out(). Threads: one at a time.
class CachingAllocator::Pinned {
 public:
  using Segments = std::map<Address, PinnedSegment>;

  Pinned(LiveMemory* live, Policy policy)
      : is_cut_(policy == Policy::native_safe),
        blocks_({live, LivePart::pinned_blocks}, {live, LivePart::pinned_block_lives}) {}

  // Whether pinned memory is kept so, instead of in PyTorch's buckets.
  [[nodiscard]] bool is_cut() const { return is_cut_; }

  // The usual allocation and the usual free by its own function: one critical section, no step that
  // unlocks. What is unusual takes the longer way, under both policies.
  [[nodiscard]] static Outcome allocate_fast(State& state, const Request& request) noexcept;
  [[nodiscard]] static Outcome free_fast(State& state, Address address) noexcept;

  void allocate(State& state, const Request& request, Outcome& out) VRAMSCOPE_REQUIRES(state);
  // A segment from the backend is a free block from now on. None: there is no room for its record.
  // For a block of `rounded` bytes.
  [[nodiscard]] AnyBlock add_segment(State& state, Place where, std::uint64_t rounded,
                                     Address address, std::uint64_t bytes)
      VRAMSCOPE_REQUIRES(state);
  // A block that is live or pending is free and merges: see State::make_reusable().
  void put_back(State& state, const AnyBlock& block, std::uint64_t life, Waits::Number freed,
                Outcome& out) VRAMSCOPE_REQUIRES(state);

  // Idle segments of a place, or of all, go back. What refuses one refuses all.
  void release_idle(State& state, Place where, Outcome& out) VRAMSCOPE_REQUIRES(state);
  void release_all_idle(State& state, Outcome& out) VRAMSCOPE_REQUIRES(state);
  // A place that is there no longer: see CachingAllocator::forget_place().
  void forget(State& state, Place where) VRAMSCOPE_REQUIRES(state);

  [[nodiscard]] BlockTable& blocks() { return blocks_; }
  [[nodiscard]] const BlockTable& blocks() const { return blocks_; }
  [[nodiscard]] const Places<PinnedPlace>& places() const { return places_; }
  [[nodiscard]] const Segments& segments() const { return segments_; }
  [[nodiscard]] Place place_of(BlockIndex block) const {
    return places_[blocks_.life(block).place]->place;
  }
  // nullptr: there is no such place.
  [[nodiscard]] PendingFrees* pending_of(Place where) noexcept {
    PinnedPlace* const place = places_.find(where);
    return place != nullptr ? &place->pending : nullptr;
  }
  // The segment, or the block, that an address lies in; end(), kNoBlock: none.
  [[nodiscard]] Segments::const_iterator segment_around(Address address) const noexcept;
  [[nodiscard]] BlockIndex block_around(Address address) const noexcept;
  [[nodiscard]] bool overlaps(Address address, std::uint64_t bytes) const noexcept;
  [[nodiscard]] std::uint64_t reserved() const { return reserved_; }
  [[nodiscard]] std::uint64_t held() const { return held_; }

 private:
  // A place that is not there yet; nullptr: out of memory.
  [[nodiscard]] PinnedPlace* add(Place where) noexcept;
  // Two more records, one more address, and room for all as free blocks. False: out of memory.
  [[nodiscard]] bool prepare() noexcept;
  // Without a live block or one that may be in use still.
  [[nodiscard]] bool is_idle(const PinnedSegment& segment) const noexcept {
    return blocks_[segment.first].is_free() && !blocks_[segment.first].is_part();
  }
  // How many requests had to ask for a segment since it became idle.
  [[nodiscard]] std::uint32_t age(const PinnedSegment& segment) const noexcept {
    return places_[segment.slot]->pools.age(blocks_[segment.first]);
  }
  // The one that has been idle for longest, the lowest address among equals; end(): none is.
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
  // False: the backend has it still, and so have we.
  bool give_back(State& state, Segments::iterator it, Outcome& out) VRAMSCOPE_REQUIRES(state);

  const bool is_cut_;
  BlockTable blocks_;
  Places<PinnedPlace> places_;
  Segments segments_;
  std::uint64_t reserved_ = 0;    // bytes of the segments
  std::uint64_t held_ = 0;        // of blocks that are not free
  std::uint64_t most_held_ = 0;   // at once, ever
  std::uint64_t host_bytes_ = 0;  // of all memory of the host; 0 before the first place
};

}  // namespace vramscope
