// Reuse decides when a block that was freed may be handed out again, and is the only place that
// knows a reason against it: something may use the block still, or a graph of the program may. So
// it keeps the places where nothing speaks against it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "allocator/caching_allocator.h"
#include "allocator/ground/backend.h"
#include "allocator/ground/fault.h"
#include "allocator/ground/limits.h"
#include "allocator/pending_frees.h"
#include "allocator/place_memory.h"
#include "allocator/pool/waits.h"

namespace vramscope {

inline constexpr std::uint64_t kSeveralPlaces = ~std::uint64_t{0};  // or none; no place's number

// Where the usual calls may go the short way (hot_path.cpp): there each needs one critical section.
struct FastPathPlaces {
  PlaceMemory* hits = nullptr;          // an allocation that a free block serves
  PlaceMemory* frees = nullptr;         // of the only place that there is, which every free means
  PinnedPlace* pinned_frees = nullptr;  // of pinned memory likewise

  friend bool operator==(const FastPathPlaces&, const FastPathPlaces&) = default;
};

// Threads: one at a time, but for what says "without the lock".
class alignas(64) Reuse {
 public:
  explicit Reuse(ReuseTime time) : time_(time) {}

  // Has it any? Not where each hit must be proved.
  [[nodiscard]] bool has_fast_path_places() const { return time_ == ReuseTime::at_free; }
  // What State::settle() has found. Quarantine forbids the short way to all frees.
  void use(FastPathPlaces now) noexcept {
    if (holds()) now.frees = nullptr, now.pinned_frees = nullptr;
    if (now != fast_path_) [[unlikely]]
      change(now);
  }
  [[nodiscard]] const FastPathPlaces& fast_path() const { return fast_path_; }
  // Their places as numbers, or kSeveralPlaces; without the lock.
  [[nodiscard]] std::uint64_t sole_place() const noexcept {
    return sole_place_.load(std::memory_order_acquire);
  }
  [[nodiscard]] std::uint64_t sole_pinned_place() const noexcept {
    return sole_pinned_place_.load(std::memory_order_acquire);
  }

  // A free waits between two critical sections: what it knows of the block from the first.
  struct Free {
    std::uint64_t serial = 0;
    std::uint32_t newest_pending = 0;
    bool goes_back = false;  // exported: the backend gets it, and may refuse
  };
  [[nodiscard]] static Free begin_free(const AnyBlock& block, const PendingFrees& pending) {
    return {block.serial(), pending.newest(), block.is_exported()};
  }
  // Without the lock, between them: what was submitted has finished (ReuseTime::at_reuse: that is
  // proved later), or the wait's error is in `out`. False: a capture forbids waits now.
  [[nodiscard]] static bool wait_for(Backend& backend, ReuseTime time, Place where,
                                     Outcome& out) noexcept;
  // In the second: may the block be used again now? Else its free stays pending.
  [[nodiscard]] bool may_complete(const Free& free, bool waited) const {
    return waited && free.serial > held_up_to_;
  }
  // What a block carries that is freed now: a wait has just finished, or is still to come.
  [[nodiscard]] Waits::Number number_of_free(const Waits& waits) const {
    return time_ == ReuseTime::at_free ? waits.settled() : waits.now();
  }

  // May a free block go out unasked?
  [[nodiscard]] bool is_proved(const Waits& waits, Waits::Number freed) {
    if (fault(Fault::reuse_unproved)) return true;
    return time_ == ReuseTime::at_free || (waits.cover(freed) && ++hits_unasked_ < kHitsPerProbe);
  }
  // Else the device is asked: a wait for what ran in the block, or only for an error that a hit
  // would hide. Without the lock; and what the answer means.
  enum class Answer : std::uint8_t { fine, error, not_now };
  [[nodiscard]] static Reply ask(Backend& backend, Place where, bool must_wait) noexcept;
  [[nodiscard]] Answer take_answer(const Reply& reply, bool must_wait, Outcome& out) noexcept;

  // Quarantine: allocations up to this number may be named in a graph of the program; 0 ends it.
  void hold_up_to(std::uint64_t serial) { held_up_to_ = serial; }
  [[nodiscard]] bool holds() const { return held_up_to_ != 0; }

  // Of dedicated blocks; a place has those of its pools.
  [[nodiscard]] PendingFrees& pending(Kind kind) {
    return kind == Kind::pinned ? pending_pinned_ : pending_dedicated_;
  }
  // Of a place of pinned memory, which has them from its first use on. Good until the next call.
  [[nodiscard]] Waits& pinned_waits(Place where) noexcept;
  // nullptr: it has none.
  [[nodiscard]] Waits* find_pinned_waits(Place where) noexcept;
  void forget_pinned_waits(Place where) noexcept;

 private:
  // Contract, "Errors": a sticky error shows after so many allocations that asked the device
  // nothing.
  static constexpr std::uint32_t kHitsPerProbe = 64;

  [[gnu::noinline]] void change(const FastPathPlaces& now) noexcept;

  // Read by each free before it has the lock.
  std::atomic<std::uint64_t> sole_place_{kSeveralPlaces};
  std::atomic<std::uint64_t> sole_pinned_place_{kSeveralPlaces};
  FastPathPlaces fast_path_;
  const ReuseTime time_;
  std::uint64_t held_up_to_ = 0;  // 0: nothing is held
  PendingFrees pending_dedicated_;
  PendingFrees pending_pinned_;
  struct PinnedWaits {
    Place where;
    Waits waits;
  };
  std::vector<PinnedWaits> pinned_waits_;
  std::uint32_t hits_unasked_ = 0;
  Waits unproved_;  // of a place that there was no memory for: no wait of it counts
};

}  // namespace vramscope
