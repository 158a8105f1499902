// The caching allocator serves requests from segments that it keeps; this is all others call of it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "allocator/base/backend.h"
#include "allocator/base/limits.h"
#include "allocator/base/live_memory.h"
#include "allocator/base/snapshot.h"

namespace vramscope {

struct Request {
  Place where{};
  std::size_t bytes = 0;
  Tag tag = 0;
  // Device memory: a segment of exactly `bytes`, with no other block in it ever, so that others can
  // be given the segment. Reused for dedicated requests of the same bytes only.
  bool dedicated = false;
};

// Where the memory of an allocation came from.
enum class Source : std::uint8_t {
  none,         // nothing was allocated
  hit,          // a free block of ours: no driver call
  new_segment,  // one driver call
  after_trim,   // a driver call that succeeded only after cached segments went back
  direct,       // the program's own driver call, adopted
};

// What a call decided; the caller records it. Nothing is called back from inside the lock.
struct Outcome {
  Status status;
  Address address = 0;
  std::size_t rounded = 0;    // size of the block
  std::size_t requested = 0;  // size that was asked for
  Place where{};
  Tag tag = 0;  // of the allocation; a free tells whose block it was
  Source source = Source::none;
  bool by_limit = false;               // out of memory: no room within the device's limit
  std::uint64_t counted_bytes = 0;     // by_limit: what counted against it at that instant
  bool has_sample = false;             // unrecorded_bytes is known: the device was asked (Grant)
  std::uint64_t unrecorded_bytes = 0;  // of the device, used by nothing that is recorded here
  std::uint64_t backend_ns = 0;        // in reserve and release
  std::uint64_t wait_ns = 0;           // in wait: what a free costs by its synchronisation
  // Of an allocation its number; of the end of one that of the newest allocation before it. So the
  // changes of all threads can be put into their order later.
  std::uint64_t serial = 0;
};

// Bytes that the program is about to get on a device by a call of its own.
struct Promise {
  std::uint16_t device = 0;
  std::uint64_t bytes = 0;
  Kind kind = Kind::device;
};

// What is known about one address.
struct Found {
  bool owned = false;  // inside one of our segments, live or free: not the driver's business
  bool live = false;   // inside a block that the program holds
  bool direct = false;
  bool dedicated = false;  // its segment holds no other block
  bool exported = false;   // see CachingAllocator::note_export
  bool in_pages = false;   // mapped into a reservation (see Expansion)
  Place where{};
  Address segment = 0;
  std::uint64_t segment_bytes = 0;
  BlockSnapshot block;
  std::uint64_t serial = 0;  // number of the allocation: differs for each life of a block
};

// How a snapshot is taken; tests take it otherwise.
struct Pace {
  std::size_t bytes = std::size_t{256} << 10;  // copied for each time that the lock is held: 0.1 ms
  // Before each time but the first; instead of a pause between two slices.
  std::function<void()> between = {};
  // What one walk under the lock tells of the same instant; null: nobody asks.
  Snapshot* at_once = nullptr;
};

// Threads: any. Nothing here throws; when our own memory is exhausted a call answers
// Result::failed with code 0 and the caller goes to the driver directly.
class CachingAllocator {
 public:
  // `live`: where the books lie, so that recover_memory() finds them when the process is dead; it
  // outlives the allocator. Nothing here may be touched in a child of fork then. `start_ns`: from
  // when all times count, by the clock of call_time_ns; 0: the first allocation.
  CachingAllocator(Backend& backend, Limits limits, LiveMemory* live = nullptr,
                   std::uint64_t start_ns = 0);
  ~CachingAllocator();
  CachingAllocator(const CachingAllocator&) = delete;
  CachingAllocator& operator=(const CachingAllocator&) = delete;

  // Makes a device place known before its first use: its statistics begin and trims count. Calls
  // that need a place open it themselves.
  void open(Place where) noexcept;
  // The groups that a tag counts in, for peaks of their own. Before its first allocation.
  void join(Tag tag, const Groups& groups) noexcept;

  // bytes > 0. Out of memory: cached segments go back, once more, then the backend's own refusal;
  // code 0 when a limit of ours refused and the backend was not asked. ReuseTime::at_reuse: a block
  // whose last free nothing proves finished is waited for, and every 64th hit asks for a sticky
  // error; when that fails the block is free again (counted as allocated and freed). 2^60 bytes and
  // more are refused uncounted. Kinds other than Kind::device and Kind::pinned: Result::failed.
  // Pinned memory comes in whole pages (Policy::pytorch: in powers of two), from the place with
  // exactly the same context and flags.
  [[nodiscard]] Outcome allocate(const Request& request) noexcept;

  // `address` must be the exact start of a live block, else Result::invalid and nothing changes.
  // ReuseTime::at_free: waits for the device first (effect of the real call). A failed wait (sticky
  // error) frees nothing and returns the backend's code. While a capture forbids waits the block
  // stays pending and is completed by a later call.
  // Wait::later: an order elsewhere (a stream's) says when the block may be reused; it stays
  // pending until a wait of another call proves it.
  // Only: what the program's function may free. Other memory of ours is Result::invalid to it.
  enum class Wait : bool { now, later };
  enum class Only : std::uint8_t { any, device, pinned };
  [[nodiscard]] Outcome free(Address address, Wait when = Wait::now,
                             Only only = Only::any) noexcept;

  // Memory that the program got directly: a segment with one block of exactly `bytes` > 0. What
  // was adopted there before, in the same space, is forgotten first: the driver hands out no
  // address twice, so the program freed it behind our back.
  // A promise for it ends in the same instant.
  Outcome adopt(Place where, Address address, std::size_t bytes, Tag tag,
                Promise promise = {}) noexcept;
  // The end of adopted memory: exact start, else Result::invalid.
  Outcome forget(Address address) noexcept;
  // The same for every kind: what lives at this number of the kind's space, unless it was adopted
  // after the allocation numbered `newest`. While the driver frees it another thread may get the
  // address: then the old one is counted out already, and the new one stays.
  Outcome forget(Kind kind, Address address, std::uint64_t newest = kNewest) noexcept;
  static constexpr std::uint64_t kNewest = ~std::uint64_t{0};
  // The number of the newest allocation, without the lock.
  [[nodiscard]] std::uint64_t newest() const noexcept;

  // Quarantine. A graph may name any block that is live when its capture ends or when it is
  // instantiated: hold_blocks(). Freed, such a block stays pending until no graph is left:
  // let_go(). Out of memory ends the quarantine too, as the free did without us.
  void hold_blocks() noexcept;
  void let_go() noexcept;
  // A wait of the program's own, for everything that can reach `where`: begin_wait() before the
  // call, and when it succeeded end_wait() with the number. Blocks that were freed before need no
  // other proof then (ReuseTime::at_reuse).
  [[nodiscard]] std::uint32_t begin_wait(Place where) noexcept;
  void end_wait(Place where, std::uint32_t number) noexcept;

  // False: certainly not inside one of our own segments, live or free. Without the lock, also in a
  // signal handler.
  [[nodiscard]] bool may_own(Address address) const noexcept;
  [[nodiscard]] Found find(Address address) const noexcept;
  // The same for memory of ours, when the lock is free; false: not known. Also in a signal handler.
  [[nodiscard]] bool try_find(Address address, Found& found) const noexcept;
  // Adopted memory in the space of `kind`; found.segment is where it starts.
  [[nodiscard]] Found find_direct(Kind kind, Address address) const noexcept;

  // The program is about to let others reach the memory around `address`: another process, another
  // device, the hardware. From now on its segment goes back to the backend when its block is freed,
  // instead of being kept for reuse. Only for live blocks alone in their segments; else nothing
  // changes, nor when our own memory is exhausted. What is found tells (`exported`).
  [[nodiscard]] Found note_export(Address address) noexcept;

  // empty_cache: gives every segment without a live block back to the backend. at_next_call: for a
  // thread that must not call the backend. Then the next call that asks for memory of a device or
  // frees some does it for that device, or a later one where a capture forbids it. The last device
  // sets *at_next_call, which must live as long.
  void trim(std::atomic<bool>* at_next_call = nullptr) noexcept;
  bool trim_device(std::uint16_t device) noexcept;
  // The same for a place of pinned host memory, which trim() leaves alone: pinning again is slow.
  // Without one for all of them (Policy::native_safe only). False: no more room than before.
  bool trim_pinned(std::optional<Place> where = {}) noexcept;
  // A place that no longer exists (context reset or destroyed): drops its segments, blocks and
  // adopted memory without a backend call. Gives the number of the newest allocation before it.
  std::uint64_t forget_place(Place where) noexcept;

  // The device seems to end here: requests that all memory on it that we know of leaves no room for
  // are refused, without asking the backend. So much of it the driver keeps for this process's
  // contexts and code, which may change. Call it before the device is used. nullopt: the capacity
  // stays what it is.
  // Memory::is_hosts: from now on, the device's memory is the host's: pinned memory takes of device
  // 0 as well, and managed memory, whose pages have nowhere else to go, gives way to nothing.
  enum class Memory : bool { unchanged, is_hosts };
  void set_capacity(std::uint16_t device, std::optional<std::uint64_t> bytes,
                    std::uint64_t kept_by_driver = 0, Memory memory = Memory::unchanged) noexcept;
  // Keeps room for direct memory, until adopt() or end_promise(). False: there is none, even with
  // idle segments given back.
  [[nodiscard]] bool promise(Promise promise, std::uint64_t* counted_bytes = nullptr) noexcept;
  // Why::refused: the driver had none left; of plain memory, promised or not, that counts in
  // num_ooms.
  enum class Why : bool { unused, refused };
  void end_promise(Promise promise, Why why = Why::unused) noexcept;
  // Throws LockLost where lost locks are given up (abandoned_locks.h), and nothing else.
  [[nodiscard]] DeviceCapacity capacity(std::uint16_t device) const;

  // A sample of a device's free memory said that so much of it is used by nothing that is recorded
  // here (its own samples it knows). When that grew, somebody else needs memory: the next call that
  // asks for memory or frees some gives what is idle back (Policy::native_safe).
  void note_unrecorded(std::uint16_t device, std::uint64_t bytes) noexcept;

  // Of everything, or of one device's memory of Kind::device.
  void reset_peaks(std::optional<std::uint16_t> device = {}) noexcept;
  void reset_accumulated(std::optional<std::uint16_t> device = {}) noexcept;
  // Of pinned and registered memory.
  void reset_host_accumulated() noexcept;
  // The policy and the time of waits stay.
  void set_limits(Limits limits) noexcept;
  // Bytes of segments on `device` that trim() would give back.
  [[nodiscard]] std::uint64_t idle_bytes(std::uint16_t device) const noexcept;
  // What the device would then have more: it hands out memory in granules of 2 MiB, which small
  // dedicated segments share. What is pending for a reason that is over counts too, unless a
  // capture forbids the wait that will complete it: nothing is waited for here. Costs a walk over
  // the dedicated segments and over those with something pending.
  [[nodiscard]] std::uint64_t recoverable_bytes(std::uint16_t device) const noexcept;

  // For tests: empty when blocks tile their segments, no two neighbours are free and every counter
  // equals a recount; else what is wrong. Costs a walk over everything; may throw bad_alloc.
  [[nodiscard]] std::string check_invariants() const;

  // Statistics and blocks of one instant within the call: totals always agree. The lock is held for
  // a slice at a time. May throw bad_alloc (lock released), and LockLost where lost locks are given
  // up.
  [[nodiscard]] Snapshot snapshot(const Pace& pace = {}) const;
  // The statistics alone, without the lock, for when it is lost: each number is one that there was,
  // two need not be of one instant. May throw bad_alloc.
  [[nodiscard]] Snapshot counters_of_lost() const;

  // What the program holds of a device, sampled without the lock: costs no other thread anything,
  // and may be off by what a call changes at this instant.
  [[nodiscard]] DeviceUse sample(std::uint16_t device) const noexcept;

  // Statistics alone. False, and nothing set, before the first use.
  [[nodiscard]] bool read_statistics(std::uint16_t device, DeviceStatistics& out) const noexcept;
  [[nodiscard]] bool read_host_statistics(HostStatistics& out) const noexcept;

  class Watch;  // watch.h

 private:
  struct State;
  class Dedicated;
  class Expansion;
  class Growth;
  class Idle;
  class Invariants;
  class Ladder;
  class MemoryCopy;
  class Pinned;
  class Reclaim;
  class Reading;
  LivePointer<State> state_;
};

}  // namespace vramscope
