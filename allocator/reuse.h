// Reuse decides when a freed block may be handed out again. It alone knows the reasons against
// that: work may still use the block, or a graph of the program may name it. It also keeps the
// places whose calls may take the fast path.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "allocator/base/backend.h"
#include "allocator/base/fault.h"
#include "allocator/base/limits.h"
#include "allocator/caching_allocator.h"
#include "allocator/pending_frees.h"
#include "allocator/place_memory.h"
#include "allocator/pool/waits.h"

namespace vramscope {

inline constexpr std::uint64_t kSeveralPlaces =
    ~std::uint64_t{0};  // or none; not the number of a place

// The places whose calls may take the fast path (hot_path.cpp), which needs one critical section.
struct FastPathPlaces {
  PlaceMemory* hits = nullptr;          // for an allocation from a free block
  PlaceMemory* frees = nullptr;         // the only place, to which every free belongs
  PinnedPlace* pinned_frees = nullptr;  // the same for pinned memory

  friend bool operator==(const FastPathPlaces&, const FastPathPlaces&) = default;
};

// Threads: one at a time, except for functions that say "without the lock".
class alignas(64) Reuse {
 public:
  explicit Reuse(ReuseTime time) : time_(time) {}

  // Whether any place may use the fast path. None may if each hit must be proved.
  [[nodiscard]] bool has_fast_path_places() const { return time_ == ReuseTime::at_free; }
  // Sets the places that State::settle() found. Quarantine keeps all frees off the fast path.
  void use(FastPathPlaces now) noexcept {
    if (holds()) now.frees = nullptr, now.pinned_frees = nullptr;
    if (now != fast_path_) [[unlikely]]
      change(now);
  }
  [[nodiscard]] const FastPathPlaces& fast_path() const { return fast_path_; }
  // The places of frees as numbers, or kSeveralPlaces; without the lock.
  [[nodiscard]] std::uint64_t sole_place() const noexcept {
    return sole_place_.load(std::memory_order_acquire);
  }
  [[nodiscard]] std::uint64_t sole_pinned_place() const noexcept {
    return sole_pinned_place_.load(std::memory_order_acquire);
  }

  // A free waits between two critical sections. This is what it knows of the block from the first.
  struct Free {
    std::uint64_t serial = 0;
    std::uint32_t newest_pending = 0;
    bool goes_back = false;  // exported: the backend gets it back, and may refuse
  };
  [[nodiscard]] static Free begin_free(const AnyBlock& block, const PendingFrees& pending) {
    return {block.serial(), pending.newest(), block.is_exported()};
  }
  // Waits between the two sections, without the lock, for submitted work (ReuseTime::at_reuse:
  // returns at once). An error of the wait goes to `out`. Returns false if a capture forbids waits
  // now.
  [[nodiscard]] static bool wait_for(Backend& backend, ReuseTime time, Place where,
                                     Outcome& out) noexcept;
  // In the second section: whether the block may be reused now. Otherwise its free stays pending.
  [[nodiscard]] bool may_complete(const Free& free, bool waited) const {
    return waited && free.serial > held_up_to_;
  }
  // Returns the wait number for a block that is freed now: a wait has just finished, or is still to
  // come.
  [[nodiscard]] Waits::Number number_of_free(const Waits& waits) const {
    return time_ == ReuseTime::at_free ? waits.settled() : waits.now();
  }

  // Whether a free block may be handed out without asking the device.
  [[nodiscard]] bool is_proved(const Waits& waits, Waits::Number freed) {
    if (fault(Fault::reuse_unproved)) return true;
    return time_ == ReuseTime::at_free || (waits.cover(freed) && ++hits_unasked_ < kHitsPerProbe);
  }
  // Otherwise the device is asked, without the lock: either to wait for the last use of the block,
  // or only for an error that a hit would hide. take_answer() interprets the reply.
  enum class Answer : std::uint8_t { fine, error, not_now };
  [[nodiscard]] static Reply ask(Backend& backend, Place where, bool must_wait) noexcept;
  [[nodiscard]] Answer take_answer(const Reply& reply, bool must_wait, Outcome& out) noexcept;

  // Quarantine: a graph of the program may name allocations up to this number. 0 ends it.
  void hold_up_to(std::uint64_t serial) { held_up_to_ = serial; }
  [[nodiscard]] bool holds() const { return held_up_to_ != 0; }

  // The pending frees of dedicated blocks. Each place has those of its pools.
  [[nodiscard]] PendingFrees& pending(Kind kind) {
    return kind == Kind::pinned ? pending_pinned_ : pending_dedicated_;
  }
  // Returns the waits of a place of pinned memory, made at its first use. Valid until the next
  // call.
  [[nodiscard]] Waits& pinned_waits(Place where) noexcept;
  // Returns nullptr if the place has none.
  [[nodiscard]] Waits* find_pinned_waits(Place where) noexcept;
  void forget_pinned_waits(Place where) noexcept;

 private:
  // Contract, "Errors": a sticky error shows after at most this many allocations that did not ask
  // the device.
  static constexpr std::uint32_t kHitsPerProbe = 64;

  [[gnu::noinline]] void change(const FastPathPlaces& now) noexcept;

  // Read by each free before it has the lock.
  std::atomic<std::uint64_t> sole_place_{kSeveralPlaces};
  std::atomic<std::uint64_t> sole_pinned_place_{kSeveralPlaces};
  FastPathPlaces fast_path_;
  const ReuseTime time_;
  std::uint64_t held_up_to_ = 0;  // 0: no quarantine
  PendingFrees pending_dedicated_;
  PendingFrees pending_pinned_;
  struct PinnedWaits {
    Place where;
    Waits waits;
  };
  std::vector<PinnedWaits> pinned_waits_;
  std::uint32_t hits_unasked_ = 0;
  Waits unproved_;  // for a place for which memory was exhausted: its waits do not count
};

}  // namespace vramscope
