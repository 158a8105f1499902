// Expansion is PyTorch's expandable segments, and segments that grow: memory comes in pages that
// are mapped into reserved addresses, and goes when whole pages are free. Blocks there are handed
// out and taken back here.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "allocator/caching_allocator.h"
#include "allocator/ground/mutex.h"
#include "allocator/pending_frees.h"
#include "allocator/place_memory.h"
#include "allocator/segments.h"

namespace vramscope {

// All that takes an Outcome unlocks, but for hand_out(). Threads: one at a time.
class CachingAllocator::Expansion {
 public:
  // The free block for a request: the best fit among plain and expandable blocks, where an
  // expandable one counts as large as it could become.
  [[nodiscard]] static Pools::Found find(const State& state, const PlaceMemory& place,
                                         PoolClass pool, Units size) VRAMSCOPE_REQUIRES(state);
  // Where a free block stands among those of its pool: size in bytes, then address.
  using Position = std::pair<std::uint64_t, Address>;
  // Of the smallest expandable one of the large pool from so many bytes on; beyond all: none.
  [[nodiscard]] static Position first_free(State& state, Place where, std::uint64_t bytes)
      VRAMSCOPE_REQUIRES(state);
  // A free block of at least `bytes`, by mapping pages. None: out.status tells; failed: the
  // backend cannot, and a plain segment may serve.
  [[nodiscard]] AnyBlock grow(State& state, Place where, std::uint64_t bytes, Outcome& out)
      VRAMSCOPE_REQUIRES(state);
  // Whole free pages of a place go back. What refuses one refuses all.
  void give_back_idle(State& state, Place where, Outcome& out) VRAMSCOPE_REQUIRES(state);

  // What Pools and State do with blocks of segments: these are no split blocks to the counters.
  static void hand_out(State& state, PlaceMemory& place, BlockIndex block, Units size, Outcome& out)
      VRAMSCOPE_REQUIRES(state);
  // A block that is neither free nor aside any longer; gives the record that it is part of then.
  static BlockIndex put_free(State& state, PlaceMemory& place, BlockIndex block)
      VRAMSCOPE_REQUIRES(state);

  // A reservation whose place ends and has no live block: its books close, and when nothing is in
  // flight there, drop_abandoned() gives it back. Gives what follows it.
  Segments::iterator forget(State& state, Segments::iterator it) VRAMSCOPE_REQUIRES(state);
  // Unlocks.
  void drop_abandoned(State& state, Place where) VRAMSCOPE_REQUIRES(state);

  // Records that no snapshot shows.
  [[nodiscard]] std::size_t hidden_records(const State& state) const VRAMSCOPE_REQUIRES(state);
  // Whole pages inside a block.
  struct Pages {
    Address begin = 0, end = 0;
    [[nodiscard]] std::uint64_t bytes() const { return end > begin ? end - begin : 0; }
  };
  [[nodiscard]] static Pages pages_in(const State& state, const Block& block)
      VRAMSCOPE_REQUIRES(state);

  // Where a block can become large enough.
  struct Room {
    BlockIndex first = kNoBlock;
    std::uint64_t skipped = 0;  // bytes at the beginning of an unbacked first block that stay so
    std::uint64_t mapped = 0;   // bytes of the pages that are needed, of segments that grow
    [[nodiscard]] explicit operator bool() const { return first != kNoBlock; }
  };
  // Are there addresses that pages can be mapped into?
  [[nodiscard]] bool has_reservations() const { return reservations_ != 0; }
  // Whether a reservation is this one block.
  [[nodiscard]] bool is_whole(const Block& block) const {
    return block.prev == fence_ && block.next == kNoBlock;
  }

 private:
  // Pages of a reservation are being mapped or unmapped, or held for that. Lives on the stack of
  // the thread that asks.
  struct PageOperation {
    Address reservation = 0;
    bool lost = false;  // its place has ended meanwhile: the reservation is an orphan
    PageOperation* next = nullptr;

    // In the list of all until end(), which tells whether the place has not ended.
    void begin(PageOperation*& all) {
      next = all;
      all = this;
    }
    [[nodiscard]] bool end(PageOperation*& all) const {
      PageOperation** link = &all;
      while (*link != this) link = &(*link)->next;
      *link = next;
      return !lost;
    }
  };

  // Blocks that follow each other and are held, up to `end`.
  struct Chain {
    BlockIndex first = kNoBlock, end = kNoBlock;
    [[nodiscard]] explicit operator bool() const { return first != kNoBlock; }
  };
  static Segments::const_iterator reservation_of(const State& state, Address address)
      VRAMSCOPE_REQUIRES(state);
  // reserved_blocks.cpp: steps that change the blocks of a reservation.
  static void insert(State& state, PlaceMemory& place, BlockIndex block) VRAMSCOPE_REQUIRES(state);
  static void erase(State& state, PlaceMemory& place, BlockIndex block) VRAMSCOPE_REQUIRES(state);
  static BlockIndex cut(State& state, BlockIndex block, std::uint64_t bytes)
      VRAMSCOPE_REQUIRES(state);
  static BlockIndex join(State& state, BlockIndex lower, BlockIndex upper)
      VRAMSCOPE_REQUIRES(state);
  static BlockIndex put_unbacked(State& state, PlaceMemory& place, BlockIndex block)
      VRAMSCOPE_REQUIRES(state);
  static BlockIndex put(State& state, PlaceMemory& place, BlockIndex block)
      VRAMSCOPE_REQUIRES(state);
  template <class Same>
  static BlockIndex merge(State& state, PlaceMemory& place, BlockIndex block, Same same)
      VRAMSCOPE_REQUIRES(state);

  // mapping_pages.cpp
  [[nodiscard]] static PlaceMemory* open_place(State& state, Place where) VRAMSCOPE_REQUIRES(state);
  [[nodiscard]] static Room find_room(const State& state, const PlaceMemory& place, PoolClass pool,
                                      Units size) VRAMSCOPE_REQUIRES(state);
  [[nodiscard]] Room add_reservation(State& state, Place where, PoolClass pool, Units size,
                                     Outcome& out) VRAMSCOPE_REQUIRES(state);
  [[nodiscard]] BlockIndex enter(State& state, Place where, PoolClass pool, Address address,
                                 Segment segment) VRAMSCOPE_REQUIRES(state);
  [[nodiscard]] static Chain hold(State& state, PlaceMemory& place, Room room, Units size)
      VRAMSCOPE_REQUIRES(state);
  static void put_back(State& state, Place where, Chain chain) VRAMSCOPE_REQUIRES(state);
  [[nodiscard]] bool back(State& state, Place where, Chain& chain, Units size, Outcome& out)
      VRAMSCOPE_REQUIRES(state);
  [[nodiscard]] bool map(State& state, Place where, Chain& chain, BlockIndex block,
                         std::uint64_t bytes, Outcome& out) VRAMSCOPE_REQUIRES(state);
  [[nodiscard]] static BlockIndex spare(State& state, Place where, BlockIndex block,
                                        std::uint64_t bytes) VRAMSCOPE_REQUIRES(state);

  // moving_pages.cpp
  static void shorten(State& state, PlaceMemory& place, Chain& chain, Units size)
      VRAMSCOPE_REQUIRES(state);
  [[nodiscard]] bool take_idle_pages(State& state, Place where, Chain chain, std::uint64_t bytes,
                                     Outcome& out) VRAMSCOPE_REQUIRES(state);
  [[nodiscard]] std::uint64_t take_idle_pages(State& state, Place where, PoolClass pool,
                                              std::uint64_t bytes, Outcome& out)
      VRAMSCOPE_REQUIRES(state);

  // shrinking.cpp
  // Nothing runs in a free block any more that began before the last proof.
  [[nodiscard]] static bool is_unused(const State& state, const PlaceMemory& place,
                                      BlockIndex block) VRAMSCOPE_REQUIRES(state);
  [[nodiscard]] static bool prove_unused(State& state, Place where, Outcome& out)
      VRAMSCOPE_REQUIRES(state);
  [[nodiscard]] bool unmap(State& state, Place where, BlockIndex block, Pages pages, Outcome& out)
      VRAMSCOPE_REQUIRES(state);
  void end_reservation(State& state, Place where, BlockIndex block) VRAMSCOPE_REQUIRES(state);
  void drop(State& state, Place where, Segments::node_type node) VRAMSCOPE_REQUIRES(state);
  [[nodiscard]] static bool unmap_all(State& state, Place where, const Segment& reservation)
      VRAMSCOPE_REQUIRES(state);
  // A call of the backend for pages of a reservation, without the lock. False: the place has ended
  // meanwhile, and no record may be touched but those of an reservation.
  template <class Call>
  [[nodiscard]] bool run_page_operation(State& state, Address reservation, Call call)
      VRAMSCOPE_REQUIRES(state);

  PageOperation* page_operations_ = nullptr;
  Segments abandoned_reservations_;  // reservations whose place has ended amid flights
  std::size_t reservations_ = 0;
  BlockIndex fence_ = kNoBlock;  // before the first block of each
};

}  // namespace vramscope
