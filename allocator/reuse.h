// Reuse decides when a block that was freed may be handed out again, and is the only place that
// knows a reason against it: something may use the block still, or a graph of the program may.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "allocator/backend.h"
#include "allocator/books/accounts.h"
#include "allocator/caching_allocator.h"
#include "allocator/dedicated/dedicated_blocks.h"
#include "allocator/ground/fault.h"
#include "allocator/ground/mutex.h"
#include "allocator/limits.h"
#include "allocator/pool/block_table.h"
#include "allocator/pool/waits.h"

namespace vramscope {

// Where a block of ours is kept.
enum class Store : std::uint8_t { pools, dedicated, pinned };

// A block of a pool or a dedicated one, as far as its reuse is concerned. Good until the lock is
// released.
class AnyBlock {
 public:
  AnyBlock() = default;  // none
  AnyBlock(BlockTable& table, BlockIndex index)
      : table_(index == kNoBlock ? nullptr : &table), index_(index) {}
  explicit AnyBlock(DedicatedBlock* block) : dedicated_(block) {}
  explicit operator bool() const { return table_ != nullptr || dedicated_ != nullptr; }

  [[nodiscard]] BlockIndex index() const { return index_; }               // of a pool's
  [[nodiscard]] DedicatedBlock* dedicated() const { return dedicated_; }  // nullptr: a pool's
  [[nodiscard]] bool is_in(const BlockTable& table) const { return table_ == &table; }
  [[nodiscard]] bool is_live() const;
  [[nodiscard]] bool is_exported() const;
  [[nodiscard]] CountedBlock counted() const;
  [[nodiscard]] std::uint64_t serial() const;   // of a live one
  [[nodiscard]] Waits::Number freed() const;    // the wait after which it was freed last
  [[nodiscard]] std::uint32_t pending() const;  // number of its free, while that is pending

 private:
  friend class PendingFrees;
  [[nodiscard]] bool is_of(Place where) const;
  [[nodiscard]] AnyBlock next() const;
  void set_next(const AnyBlock& next) const;

  BlockTable* table_ = nullptr;
  BlockIndex index_ = kNoBlock;
  DedicatedBlock* dedicated_ = nullptr;
};

// Frees that nothing has proved complete yet, in their order: of one place's pools, or of all
// dedicated blocks of a kind. Threads: one at a time.
class PendingFrees {
 public:
  // A live block becomes a pending one.
  void add(const AnyBlock& block);
  [[nodiscard]] bool empty() const { return !first_; }
  [[nodiscard]] bool has(Place where) const;
  // The first of a place that is no newer than the free numbered `newest`, or is the one numbered
  // `own`, taken out; none: there is no such.
  [[nodiscard]] AnyBlock take(Place where, std::uint32_t newest, std::uint32_t own);
  [[nodiscard]] std::uint32_t newest() const { return newest_; }
  // The first, and the one after another.
  [[nodiscard]] AnyBlock first() const { return first_; }
  [[nodiscard]] static AnyBlock after(const AnyBlock& block) { return block.next(); }

 private:
  AnyBlock first_;
  AnyBlock last_;
  std::uint32_t newest_ = 0;
};

// Threads: one at a time, but for wait_for().
class Reuse {
 public:
  Reuse(Backend& backend, ReuseTime time) : backend_(backend), time_(time) {}

  // A free waits between two critical sections: what it knows of the block from the first.
  struct Free {
    std::uint64_t serial = 0;
    std::uint32_t newest_pending = 0;
    bool goes_back = false;  // exported: the backend gets it, and may refuse
  };
  [[nodiscard]] static Free begin_free(const AnyBlock& block, const PendingFrees& pending) {
    return {block.serial(), pending.newest(), block.is_exported()};
  }
  // Between them, without the lock: what was submitted has finished (ReuseTime::at_reuse: that is
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
  // would hide. Unlocks.
  enum class Answer : std::uint8_t { fine, error, not_now };
  [[nodiscard]] Answer ask(Mutex& mutex, Place where, bool must_wait, Outcome& out)
      VRAMSCOPE_REQUIRES(mutex);

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

  Backend& backend_;
  const ReuseTime time_;
  std::uint32_t hits_unasked_ = 0;
  std::uint64_t held_up_to_ = 0;  // 0: nothing is held
  PendingFrees pending_dedicated_;
  PendingFrees pending_pinned_;
  struct PinnedWaits {
    Place where;
    Waits waits;
  };
  std::vector<PinnedWaits> pinned_waits_;
  Waits unproved_;  // of a place that there was no memory for: no wait of it counts
};

}  // namespace vramscope
