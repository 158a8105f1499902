// Expansion implements PyTorch's expandable segments and growing segments: it maps pages into
// reserved addresses, and unmaps whole free pages. It hands out and takes back the blocks there.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "allocator/base/mutex.h"
#include "allocator/caching_allocator.h"
#include "allocator/pending_frees.h"
#include "allocator/place_memory.h"
#include "allocator/segments.h"

namespace vramscope {

// Every function that takes an Outcome unlocks, except hand_out(). Threads: one at a time.
class CachingAllocator::Expansion {
 public:
  // Finds the free block for a request: the best fit among plain and expandable blocks. An
  // expandable block counts as large as it could become.
  [[nodiscard]] static Pools::Found find(const State& state, const PlaceMemory& place,
                                         PoolClass pool, Units size) VRAMSCOPE_REQUIRES(state);
  // The order of a pool's free blocks: size in bytes, then address.
  using Position = std::pair<std::uint64_t, Address>;
  // Returns the position of the smallest expandable block of the large pool with at least `bytes`,
  // or a position beyond all.
  [[nodiscard]] static Position first_free(State& state, Place where, std::uint64_t bytes)
      VRAMSCOPE_REQUIRES(state);
  // Makes a free block of at least `bytes` by mapping pages. If it returns none, out.status says
  // why. Result::failed: the backend cannot map memory, and a plain segment may serve.
  [[nodiscard]] AnyBlock grow(State& state, Place where, std::uint64_t bytes, Outcome& out)
      VRAMSCOPE_REQUIRES(state);
  // Gives whole free pages of a place back. It stops at the first refusal.
  void give_back_idle(State& state, Place where, Outcome& out) VRAMSCOPE_REQUIRES(state);

  // Do what Pools and State do with blocks of segments. The counters do not treat these blocks as
  // split.
  static void hand_out(State& state, PlaceMemory& place, BlockIndex block, Units size, Outcome& out)
      VRAMSCOPE_REQUIRES(state);
  // Frees a block that is neither free nor held. Returns the record of the merged block.
  static BlockIndex put_free(State& state, PlaceMemory& place, BlockIndex block)
      VRAMSCOPE_REQUIRES(state);

  // Abandons a reservation without live blocks whose place ends. drop_abandoned() gives it back
  // when no operation is pending there. Returns the next segment.
  Segments::iterator forget(State& state, Segments::iterator it) VRAMSCOPE_REQUIRES(state);
  // Drops the abandoned reservations without a pending operation. Unlocks.
  void drop_abandoned(State& state, Place where) VRAMSCOPE_REQUIRES(state);

  // Returns the number of records that no snapshot shows.
  [[nodiscard]] std::size_t hidden_records(const State& state) const VRAMSCOPE_REQUIRES(state);
  // The whole pages inside a block.
  struct Pages {
    Address begin = 0, end = 0;
    [[nodiscard]] std::uint64_t bytes() const { return end > begin ? end - begin : 0; }
  };
  [[nodiscard]] static Pages pages_in(const State& state, const Block& block)
      VRAMSCOPE_REQUIRES(state);

  // A range of blocks that can become one block that is large enough.
  struct Room {
    BlockIndex first = kNoBlock;
    std::uint64_t skipped =
        0;  // bytes at the beginning of an unbacked first block that stay unbacked
    std::uint64_t mapped = 0;  // growing segments: bytes of the pages that are needed
    [[nodiscard]] explicit operator bool() const { return first != kNoBlock; }
  };
  // Whether there are reserved addresses.
  [[nodiscard]] bool has_reservations() const { return reservations_ != 0; }
  // Whether this block is a whole reservation.
  [[nodiscard]] bool is_whole(const Block& block) const {
    return block.prev == fence_ && block.next == kNoBlock;
  }

 private:
  // An operation that maps, unmaps or holds pages of a reservation. It lies on the stack of the
  // thread that runs it.
  struct PageOperation {
    Address reservation = 0;
    bool lost = false;  // its place has ended meanwhile: the reservation is abandoned
    PageOperation* next = nullptr;

    // begin() adds the operation to the list of all, end() removes it. end() returns false if the
    // place has ended meanwhile.
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

  // Consecutive held blocks, up to `end`.
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

  // shrinking.cpp Whether a wait has proved that nothing uses a free block any more.
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
  // Calls the backend for pages of a reservation, without the lock. Returns false if the place has
  // ended meanwhile; then only records of abandoned reservations may be touched.
  template <class Call>
  [[nodiscard]] bool run_page_operation(State& state, Address reservation, Call call)
      VRAMSCOPE_REQUIRES(state);

  PageOperation* page_operations_ = nullptr;
  Segments abandoned_reservations_;  // of places that ended during an operation
  std::size_t reservations_ = 0;
  BlockIndex fence_ = kNoBlock;  // the record before the first block of each reservation
};

}  // namespace vramscope
