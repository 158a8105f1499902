// State holds the parts of a caching allocator and the steps that its calls share. Only files of
// this folder include it.
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

#include "allocator/base/address_range.h"
#include "allocator/base/backend.h"
#include "allocator/base/fault.h"
#include "allocator/base/fork_locks.h"
#include "allocator/base/limits.h"
#include "allocator/base/mutex.h"
#include "allocator/books/accounts.h"
#include "allocator/caching_allocator.h"
#include "allocator/dedicated.h"
#include "allocator/direct_blocks.h"
#include "allocator/expansion.h"
#include "allocator/live_books.h"
#include "allocator/pinned.h"
#include "allocator/place_memory.h"
#include "allocator/pool/block_table.h"
#include "allocator/pool/pool.h"
#include "allocator/posted_calls.h"
#include "allocator/reclaim.h"
#include "allocator/reuse.h"
#include "allocator/segments.h"

namespace vramscope {

// Bytes of a device that are used and not recorded here, by samples of its free memory.
struct Unrecorded {
  std::uint64_t least = ~std::uint64_t{0};  // since idle segments last went back because of it
  std::uint64_t last = 0;
  bool has_grown = false;       // somebody needs memory: idle segments must go back
  bool is_trim_posted = false;  // the same for State::trim_at_next_call

  [[nodiscard]] bool calls_for_release() const { return has_grown || is_trim_posted; }
};

[[nodiscard]] inline bool is_out_of_memory(const Outcome& out) {
  return out.status.result == Result::out_of_memory;
}

// Notes the backend's answer to a request that still counts as awaited.
void note_grant(const Accounts& accounts, Place where, const Grant& grant, Outcome& out);

// Whether `bytes` more would exceed the device's limit. If so, sets the outcome.
[[nodiscard]] bool exceeds_limit(const Accounts& accounts, Place where, std::uint64_t bytes,
                                 Outcome& out);

// The state is its own lock. Every call of the backend releases it; a step that does so says
// "unlocks", and references to places, blocks and segments are invalid afterwards.
struct VRAMSCOPE_THREAD_ATTRIBUTE(capability("mutex")) CachingAllocator::State {
  State(Backend& door, Limits settings, LiveMemory* live, std::uint64_t start_ns)
      : backend(door),
        reuse_time(settings.reuse),
        limits(settings.under_policy()),
        plain_hits(limits.has_plain_hits()),
        blocks({live, LivePart::blocks}, {live, LivePart::block_lives}),
        accounts(limits.max_split_size, live, start_ns),
        pinned(live, settings.policy),
        listed(live),
        reuse(settings.reuse) {}

  void lock() VRAMSCOPE_ACQUIRE() VRAMSCOPE_NO_ANALYSIS { mutex.lock(); }
  void unlock() VRAMSCOPE_RELEASE() VRAMSCOPE_NO_ANALYSIS {
    settle();
    mutex.unlock();
  }
  // For callers that change nothing that settle() reads.
  [[nodiscard]] bool try_lock()
      VRAMSCOPE_THREAD_ATTRIBUTE(try_acquire_capability(true)) VRAMSCOPE_NO_ANALYSIS {
    return mutex.try_lock();
  }
  void unlock_unsettled() VRAMSCOPE_RELEASE() VRAMSCOPE_NO_ANALYSIS { mutex.unlock(); }
  class QuietLock;  // for a scope
  // Decides before each unlock which places may use the fast path. Nothing else decides that.
  void settle() VRAMSCOPE_REQUIRES(this);
  // For functions that need no lock.
  [[nodiscard]] const Reuse& unguarded_reuse() const noexcept VRAMSCOPE_NO_ANALYSIS {
    return reuse;
  }

  // hot_path.cpp
  class FastPathSection;
  [[nodiscard]] Outcome allocate_fast(const Request& request) noexcept;
  [[nodiscard]] Outcome hit(PlaceMemory& place, PoolClass pool, const Pools::Found& found,
                            Units size, const Request& request) VRAMSCOPE_REQUIRES(this);
  [[nodiscard]] Outcome free_fast(Address address, Only only) noexcept;
  // over_cap: if null, idle memory beyond the cap goes back; else receives whether there is some.
  [[nodiscard]] Outcome hand_back(PlaceMemory& place, BlockTable::Entry entry,
                                  std::uint64_t wait_ns, bool* over_cap) VRAMSCOPE_REQUIRES(this);
  [[gnu::noinline]] void shed_idle(Outcome& out) VRAMSCOPE_REQUIRES(this);
  void hand_out(PlaceMemory& place, PoolClass pool, const Pools::Found& found, Units size,
                Outcome& out) VRAMSCOPE_REQUIRES(this);
  // Free a block that nothing uses any more, or one that may be in use until its number is covered.
  void release(PlaceMemory& place, BlockTable::Entry entry) VRAMSCOPE_REQUIRES(this);
  void release(PlaceMemory& place, PoolClass pool, BlockTable::Entry entry)
      VRAMSCOPE_REQUIRES(this);
  // `serial`: the number of the allocation that the program frees, or Accounts::kNoLife.
  void release(PlaceMemory& place, BlockTable::Entry entry, std::uint64_t serial,
               Waits::Number freed) VRAMSCOPE_REQUIRES(this);

  // calls.cpp
  [[gnu::noinline]] Outcome allocate_otherwise(const Request& request) noexcept;
  [[gnu::noinline]] Outcome free_otherwise(Address address, Wait when, Only only) noexcept;
  void allocate(const Request& request, Outcome& out) VRAMSCOPE_REQUIRES(this);
  [[nodiscard]] Pools::Found find_within_limits(PlaceMemory& place, std::uint64_t rounded)
      VRAMSCOPE_REQUIRES(this);
  void hand_out_within_limits(PlaceMemory& place, const Pools::Found& found, std::uint64_t rounded,
                              Outcome& out) VRAMSCOPE_REQUIRES(this);
  void serve_new(std::uint64_t rounded, Outcome& out) VRAMSCOPE_REQUIRES(this);
  [[nodiscard]] std::uint64_t next_serial() VRAMSCOPE_REQUIRES(this) {
    const std::uint64_t serial = last_serial.load(std::memory_order_relaxed) + 1;
    last_serial.store(serial, std::memory_order_relaxed);
    return serial;
  }
  // frees.cpp. Functions that take an Outcome unlock.
  // Returns false if no block of that store begins there.
  [[nodiscard]] bool free(Store store, Address address, Wait when, Outcome& out) noexcept;
  void finish_free(Store store, const AnyBlock& block, const Reuse::Free& known, bool waited,
                   Outcome& out) VRAMSCOPE_REQUIRES(this);
  // Frees a live or pending block. `life`: the number of the allocation that ends here; kGivenUp:
  // it ended before; Accounts::kNoLife: the program never saw it.
  static constexpr std::uint64_t kGivenUp = ~std::uint64_t{0};
  Status make_reusable(const AnyBlock& block, std::uint64_t life, Outcome& out)
      VRAMSCOPE_REQUIRES(this);
  // Makes pending blocks reusable up to the free numbered `newest`, and that of the free numbered
  // `own`.
  [[nodiscard]] Status complete(Store store, Place where, std::uint32_t newest, std::uint32_t own,
                                Outcome& out) VRAMSCOPE_REQUIRES(this);
  // Waits and completes pending frees, if waits are allowed.
  void drain(Store store, Place where, Outcome& out) VRAMSCOPE_REQUIRES(this);
  // Asks the device before a free block is handed out. Returns false if that is forbidden now; then
  // the block was put back.
  [[nodiscard]] bool prove(Store store, const AnyBlock& block, Outcome& out)
      VRAMSCOPE_REQUIRES(this);
  [[nodiscard]] AnyBlock find_block(Store store, Address address) VRAMSCOPE_REQUIRES(this);
  [[nodiscard]] Place place_of(const AnyBlock& block) const VRAMSCOPE_REQUIRES(this);
  [[nodiscard]] PendingFrees* pending_of(Store store, Place where) VRAMSCOPE_REQUIRES(this);
  [[nodiscard]] Waits& waits_of(Place where) VRAMSCOPE_REQUIRES(this);

  // places.cpp Unlocks if the place is new. Returns nullptr if memory is exhausted.
  [[nodiscard]] PlaceMemory* open_place(Place where) VRAMSCOPE_REQUIRES(this);
  [[nodiscard]] PlaceMemory* add_place(Place where, std::uint64_t total_bytes)
      VRAMSCOPE_REQUIRES(this);
  // Makes room for two more records and one more address, and for all blocks as free ones. Returns
  // false if memory is exhausted.
  [[nodiscard]] bool prepare_blocks() VRAMSCOPE_REQUIRES(this);

  // Whether an address from the backend is not null and overlaps none of our segments.
  [[nodiscard]] bool is_fresh(Kind kind, Address address, std::uint64_t bytes) const
      VRAMSCOPE_REQUIRES(this);

  // direct_memory.cpp
  void adopt(Place where, Address address, std::size_t bytes, Outcome& out)
      VRAMSCOPE_REQUIRES(this);
  // Whether direct memory was freed, or went with its context.
  enum class Ended : bool { freed, lost };
  void forget_direct(Kind kind, Address address, Ended how) VRAMSCOPE_REQUIRES(this);

  Backend& backend;
  const ReuseTime reuse_time;
  Mutex mutex;
  const ForkLock over_fork{MutexOverFork::kWays, &mutex};
  PostedCalls posted;  // from threads that found the lock taken
  Limits limits VRAMSCOPE_GUARDED_BY(this);
  bool plain_hits VRAMSCOPE_GUARDED_BY(this);  // limits.has_plain_hits()
  std::array<Unrecorded, kMaxDevices> unrecorded VRAMSCOPE_GUARDED_BY(this);
  std::atomic<bool>* trim_at_next_call VRAMSCOPE_GUARDED_BY(this) = nullptr;  // null: none is due
  BlockTable blocks VRAMSCOPE_GUARDED_BY(this);
  Places<PlaceMemory> places VRAMSCOPE_GUARDED_BY(this);
  Segments segments VRAMSCOPE_GUARDED_BY(this);
  Reclaim reclaim VRAMSCOPE_GUARDED_BY(this);
  Expansion expansion VRAMSCOPE_GUARDED_BY(this);
  DirectBlocks directs VRAMSCOPE_GUARDED_BY(this);
  Accounts accounts VRAMSCOPE_GUARDED_BY(this);
  Pinned pinned VRAMSCOPE_GUARDED_BY(this);
  Dedicated dedicated VRAMSCOPE_GUARDED_BY(this);
  ListedSegments listed VRAMSCOPE_GUARDED_BY(this);  // all segments of every sort
  Reuse reuse VRAMSCOPE_GUARDED_BY(this);

  // Written under the lock, read without it. The first changes with each allocation and has a cache
  // line of its own; the second changes seldom.
  alignas(64) std::atomic<std::uint64_t> last_serial{0};
  struct Ranges {
    AddressRange device;  // all segments of pools ever
    AddressRange dedicated;
    AddressRange pinned;
  };
  alignas(64) Ranges ranges;
};

class VRAMSCOPE_THREAD_ATTRIBUTE(scoped_lockable) CachingAllocator::State::QuietLock {
 public:
  explicit QuietLock(State& state) VRAMSCOPE_ACQUIRE(state) : state_(state) { state_.mutex.lock(); }
  ~QuietLock() VRAMSCOPE_RELEASE() { state_.mutex.unlock(); }
  QuietLock(const QuietLock&) = delete;
  QuietLock& operator=(const QuietLock&) = delete;

 private:
  State& state_;
};

inline void CachingAllocator::State::settle() {
  if (!reuse.has_fast_path_places()) return;
  const bool is_copied = blocks.has_copies();
  const auto is_calm = [&](const PlaceMemory* place) VRAMSCOPE_REQUIRES(this) {
    return place != nullptr && place->pending.empty() && !is_copied &&
           !unrecorded[place->place.device].calls_for_release();
  };
  PlaceMemory* const last = places.last();
  PlaceMemory* const sole = places.sole();
  PinnedPlace* const pinned_sole = pinned.places().sole();
  const bool is_pinned_calm = pinned_sole != nullptr && pinned_sole->pending.empty() &&
                              limits.pinned_max_cached_size == Limits::kUnlimited;
  reuse.use({.hits = plain_hits && is_calm(last) ? last : nullptr,
             .frees = !expansion.has_reservations() && is_calm(sole) ? sole : nullptr,
             .pinned_frees = is_pinned_calm ? pinned_sole : nullptr});
}

}  // namespace vramscope
