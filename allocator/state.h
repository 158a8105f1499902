// The state is what a caching allocator is made of, with the steps that its calls share; only files
// of this folder include it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "allocator/backend.h"
#include "allocator/books/accounts.h"
#include "allocator/caching_allocator.h"
#include "allocator/dedicated/dedicated_blocks.h"
#include "allocator/direct_blocks.h"
#include "allocator/ground/fault.h"
#include "allocator/ground/fork_locks.h"
#include "allocator/ground/mutex.h"
#include "allocator/limits.h"
#include "allocator/live_books.h"
#include "allocator/pinned_memory.h"
#include "allocator/pool/block_table.h"
#include "allocator/pool/expandable_blocks.h"
#include "allocator/pool/pool.h"
#include "allocator/pool/waits.h"
#include "allocator/posted_calls.h"
#include "allocator/reuse.h"

namespace vramscope {

// One place: its two pools, and the blocks that were freed while the device could not be waited
// for.
struct PlaceMemory {
  PlaceMemory(Place where, std::uint16_t at, PlaceAccounts counted)
      : place(where), slot(at), accounts(counted), pools(at) {}
  // Capacity for so many free blocks. False: out of memory.
  [[nodiscard]] bool prepare(std::size_t blocks) noexcept {
    return pools.prepare(blocks) && (!expandable || expandable->prepare(blocks));
  }

  Place place;
  std::uint16_t slot;  // index into State::places
  PlaceAccounts accounts;
  Pools pools;
  std::unique_ptr<ExpandableBlocks> expandable;  // since there was a reservation
  std::uint64_t total_bytes = 0;                 // of the device
  PendingFrees pending;
  Waits waits;
};

struct Segment {
  std::uint64_t bytes = 0;
  BlockIndex first = kNoBlock;  // the same record all its life
  std::uint16_t slot = 0;
  PoolClass pool = PoolClass::large;
  std::uint32_t listed = 0;  // slot of ListedSegments
  std::uint64_t page = 0;    // bytes; 0: plain, else a reservation (see ExpandableBlocks)
};

using Segments = std::map<Address, Segment>;

// What is used on a device and not recorded here, as samples of its free memory tell.
struct Unrecorded {
  std::uint64_t least = ~std::uint64_t{0};  // since idle segments went back because of it
  std::uint64_t last = 0;
  bool has_grown = false;  // somebody needs memory: idle segments are to go back
};

// A segment that the backend is being asked to take back: it is in no book. Lives on the stack of
// the thread that asks.
struct Departure {
  Place where;
  std::uint32_t thread = 0;  // this_holder() of it
  bool lost = false;         // its place has ended meanwhile
  Departure* next = nullptr;
};

// Pages of a reservation are being mapped or unmapped, or held for that. Lives on the stack of the
// thread that asks.
struct Flight {
  Address reservation = 0;
  bool lost = false;  // its place has ended meanwhile: the reservation is an orphan
  Flight* next = nullptr;

  // In the list of all until leave(), which tells whether the place has not ended.
  void board(Flight*& all) {
    next = all;
    all = this;
  }
  [[nodiscard]] bool leave(Flight*& all) const {
    Flight** link = &all;
    while (*link != this) link = &(*link)->next;
    *link = next;
    return !lost;
  }
};

// A range that only grows, written under the lock and read without it: the answer "not ours" for
// most foreign addresses.
struct AddressRange {
  std::atomic<Address> lowest{~Address{0}};
  std::atomic<Address> end{0};

  [[nodiscard]] bool contains(Address address) const noexcept {
    return address >= lowest.load(std::memory_order_acquire) &&
           address < end.load(std::memory_order_acquire);
  }
  void widen(Address address, std::uint64_t bytes) noexcept;
};

[[nodiscard]] inline bool is_out_of_memory(const Outcome& out) {
  return out.status.result == Result::out_of_memory;
}

// What the backend answered for memory that it was asked for, while that is awaited still.
void note_grant(const Accounts& accounts, Place where, const Grant& grant, Outcome& out);

// Whether the device's limit has no room for so many bytes, which the outcome tells then.
[[nodiscard]] bool exceeds_limit(const Accounts& accounts, Place where, std::uint64_t bytes,
                                 Outcome& out);

// The lock is released around every call of the backend; a step that does so says "unlocks", and
// references into places, blocks and segments do not survive it.
struct CachingAllocator::State {
  State(Backend& door, Limits settings, LiveMemory* live, std::uint64_t start_ns)
      : backend(door),
        reuse_time(settings.reuse),
        policy(settings.policy),
        limits(settings.under_policy()),
        plain_hits(limits.has_plain_hits()),
        blocks({live, LivePart::blocks}, {live, LivePart::block_lives}),
        accounts(limits.max_split_size, live, start_ns),
        pinned_memory(live),
        listed(live),
        reuse(door, settings.reuse) {}

  // hot_path.cpp
  class UsualSection;
  [[nodiscard]] Outcome allocate_usually(const Request& request) noexcept;
  [[nodiscard]] Outcome hit(PlaceMemory& place, PoolClass pool, const Pools::Found& found,
                            Units size, const Request& request) VRAMSCOPE_REQUIRES(mutex);
  [[nodiscard]] Outcome free_usually(Address address, Only only) noexcept;
  // over_cap: null, and what lies idle beyond the cap goes back; or where to say that some does.
  [[nodiscard]] Outcome hand_back(PlaceMemory& place, BlockTable::Entry entry,
                                  std::uint64_t wait_ns, bool* over_cap) VRAMSCOPE_REQUIRES(mutex);
  void hand_out(PlaceMemory& place, PoolClass pool, const Pools::Found& found, Units size,
                Outcome& out) VRAMSCOPE_REQUIRES(mutex);
  // A block that nothing uses any more, and one that may be in use until its number is covered.
  void release(PlaceMemory& place, BlockTable::Entry entry) VRAMSCOPE_REQUIRES(mutex);
  void release(PlaceMemory& place, PoolClass pool, BlockTable::Entry entry)
      VRAMSCOPE_REQUIRES(mutex);
  // `serial`: of the life that the program ends, or Accounts::kNoLife.
  void release(PlaceMemory& place, BlockTable::Entry entry, std::uint64_t serial,
               Waits::Number freed) VRAMSCOPE_REQUIRES(mutex);

  // calls.cpp
  [[gnu::noinline]] Outcome allocate_otherwise(const Request& request) noexcept;
  [[gnu::noinline]] Outcome free_otherwise(Address address, Wait when, Only only) noexcept;
  void allocate(const Request& request, Outcome& out) VRAMSCOPE_REQUIRES(mutex);
  [[nodiscard]] Pools::Found find_within_limits(PlaceMemory& place, std::uint64_t rounded)
      VRAMSCOPE_REQUIRES(mutex);
  void hand_out_within_limits(PlaceMemory& place, const Pools::Found& found, std::uint64_t rounded,
                              Outcome& out) VRAMSCOPE_REQUIRES(mutex);
  void serve_new(std::uint64_t rounded, Outcome& out) VRAMSCOPE_REQUIRES(mutex);
  [[nodiscard]] std::uint64_t next_serial() VRAMSCOPE_REQUIRES(mutex) {
    const std::uint64_t serial = last_serial.load(std::memory_order_relaxed) + 1;
    last_serial.store(serial, std::memory_order_relaxed);
    return serial;
  }
  // frees.cpp. Those that take an Outcome unlock.
  // False: no block of that store begins there.
  [[nodiscard]] bool free(Store store, Address address, Wait when, Outcome& out) noexcept;
  void finish_free(Store store, const AnyBlock& block, const Reuse::Free& known, bool waited,
                   Outcome& out) VRAMSCOPE_REQUIRES(mutex);
  // A live or pending block is free from now on. `life`: the number of the one that ends here;
  // kGivenUp: it has ended before; Accounts::kNoLife: the program never saw it.
  static constexpr std::uint64_t kGivenUp = ~std::uint64_t{0};
  Status make_reusable(const AnyBlock& block, std::uint64_t life, Outcome& out)
      VRAMSCOPE_REQUIRES(mutex);
  Status store_dedicated(DedicatedBlock& block, Outcome& out) VRAMSCOPE_REQUIRES(mutex);
  // What was pending up to the numbered free is reusable, and that of the free numbered `own`.
  [[nodiscard]] Status complete(Store store, Place where, std::uint32_t newest, std::uint32_t own,
                                Outcome& out) VRAMSCOPE_REQUIRES(mutex);
  // Waits and completes, if the device may be waited for.
  void drain(Store store, Place where, Outcome& out) VRAMSCOPE_REQUIRES(mutex);
  // Asks the device before a free block goes out. False: nothing may be asked now, and the block
  // was put back.
  [[nodiscard]] bool prove(Store store, const AnyBlock& block, Outcome& out)
      VRAMSCOPE_REQUIRES(mutex);
  [[nodiscard]] AnyBlock find_block(Store store, Address address) VRAMSCOPE_REQUIRES(mutex);
  [[nodiscard]] Place place_of(const AnyBlock& block) const VRAMSCOPE_REQUIRES(mutex);
  [[nodiscard]] PendingFrees* pending_of(Store store, Place where) VRAMSCOPE_REQUIRES(mutex);
  [[nodiscard]] Waits& waits_of(Place where) VRAMSCOPE_REQUIRES(mutex);
  void hold_up_to(std::uint64_t serial) VRAMSCOPE_REQUIRES(mutex);

  // places.cpp
  [[nodiscard]] PlaceMemory* find_place(Place where) VRAMSCOPE_REQUIRES(mutex);
  // Unlocks when the place is new. nullptr: out of memory.
  [[nodiscard]] PlaceMemory* open_place(Place where) VRAMSCOPE_REQUIRES(mutex);
  // To be called when places, pending or held frees have come or gone, or settings have changed.
  [[gnu::noinline]] void note_usual_places() VRAMSCOPE_REQUIRES(mutex);
  [[nodiscard]] PlaceMemory* add_place(Place where, std::uint64_t total_bytes)
      VRAMSCOPE_REQUIRES(mutex);
  // Two more records, one more address, and room for all as free blocks. False: out of memory.
  [[nodiscard]] bool prepare_blocks() VRAMSCOPE_REQUIRES(mutex);

  // Not null and clear of every segment that we have.
  [[nodiscard]] bool is_fresh(Kind kind, Address address, std::uint64_t bytes) const
      VRAMSCOPE_REQUIRES(mutex);

  // dedicated_memory.cpp. Those that take an Outcome unlock.
  void allocate_dedicated(const Request& request, Outcome& out) VRAMSCOPE_REQUIRES(mutex);
  void hand_out_dedicated(DedicatedBlock& block, Outcome& out) VRAMSCOPE_REQUIRES(mutex);
  [[nodiscard]] DedicatedBlock* set_apart(Address segment) VRAMSCOPE_REQUIRES(mutex);

  // direct_memory.cpp
  void adopt(Place where, Address address, std::size_t bytes, Outcome& out)
      VRAMSCOPE_REQUIRES(mutex);
  // Did somebody give it back, or has it just gone with its context?
  enum class Ended : bool { freed, lost };
  void forget_direct(Kind kind, Address address, Ended how) VRAMSCOPE_REQUIRES(mutex);

  [[nodiscard]] DedicatedBlocks& dedicated_of(Kind kind) VRAMSCOPE_REQUIRES(mutex) {
    return kind == Kind::pinned ? pinned : dedicated;
  }

  Backend& backend;
  const ReuseTime reuse_time;
  const Policy policy;
  mutable Mutex mutex;
  const ForkLock over_fork{MutexOverFork::kWays, &mutex};
  PostedCalls posted;  // by who found the lock taken
  Limits limits VRAMSCOPE_GUARDED_BY(mutex);
  bool plain_hits VRAMSCOPE_GUARDED_BY(mutex);  // limits.has_plain_hits()
  std::array<Unrecorded, kMaxDevices> unrecorded VRAMSCOPE_GUARDED_BY(mutex);
  BlockTable blocks VRAMSCOPE_GUARDED_BY(mutex);
  std::vector<std::unique_ptr<PlaceMemory>> places VRAMSCOPE_GUARDED_BY(mutex);  // by slot
  std::size_t last_place VRAMSCOPE_GUARDED_BY(mutex) = 0;          // slot that was asked for last
  PlaceMemory* sole_memory VRAMSCOPE_GUARDED_BY(mutex) = nullptr;  // of sole_place
  // The last place, when allocate_usually() may serve from it.
  PlaceMemory* usual_place VRAMSCOPE_GUARDED_BY(mutex) = nullptr;
  Segments segments VRAMSCOPE_GUARDED_BY(mutex);
  Departure* departures VRAMSCOPE_GUARDED_BY(mutex) = nullptr;
  Flight* flights VRAMSCOPE_GUARDED_BY(mutex) = nullptr;
  Segments orphans VRAMSCOPE_GUARDED_BY(mutex);  // reservations whose place has ended amid flights
  std::size_t reservations VRAMSCOPE_GUARDED_BY(mutex) = 0;
  BlockIndex fence VRAMSCOPE_GUARDED_BY(mutex) = kNoBlock;    // before the first block of each
  std::size_t records_aside VRAMSCOPE_GUARDED_BY(mutex) = 0;  // of departing segments of pools
  DirectBlocks directs VRAMSCOPE_GUARDED_BY(mutex);
  Accounts accounts VRAMSCOPE_GUARDED_BY(mutex);
  PinnedMemory pinned_memory VRAMSCOPE_GUARDED_BY(mutex);  // Policy::native_safe
  DedicatedBlocks pinned VRAMSCOPE_GUARDED_BY(mutex);      // Policy::pytorch
  DedicatedBlocks dedicated VRAMSCOPE_GUARDED_BY(mutex);   // dedicated device memory
  ListedSegments listed VRAMSCOPE_GUARDED_BY(mutex);       // all of the above
  Reuse reuse VRAMSCOPE_GUARDED_BY(mutex);

  // Written under the lock, read without it: by each allocation, in a line of its own; and seldom.
  alignas(64) std::atomic<std::uint64_t> last_serial{0};
  // The place that every free can only mean: there is just one, nothing is pending there and
  // nothing will be, and a free waits.
  alignas(64) std::atomic<std::uint64_t> sole_place{kSeveralPlaces};
  std::atomic<std::uint64_t> sole_pinned_place{kSeveralPlaces};  // PinnedMemory::usual
  AddressRange device_range;  // all our segments of pools ever lie in it
  AddressRange dedicated_range;
  AddressRange pinned_range;
};

}  // namespace vramscope
