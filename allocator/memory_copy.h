// A copy of all that a snapshot tells, as it was at one instant, made a slice at a time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "allocator/books/birth_times.h"
#include "allocator/books/ledger_copy.h"
#include "allocator/ground/snapshot.h"
#include "allocator/live_books.h"
#include "allocator/pool/block_table.h"
#include "allocator/state.h"

namespace vramscope {

// The instant is that of begin(): counters are copied then, and so are the first records. Until it
// is whole, whoever is about to write to a record that was there then has it kept first, and nobody
// takes the hot path, which does not. Afterwards nothing of the allocator is needed.
// Threads: one at a time.
class CachingAllocator::MemoryCopy {
 public:
  MemoryCopy() = default;
  MemoryCopy(const MemoryCopy&) = delete;
  MemoryCopy& operator=(const MemoryCopy&) = delete;

  // Room for all that was found to be there by begin(), and for a little more, in pages that are
  // there: not under the lock. May throw bad_alloc.
  void make_room();
  // At once, under the lock all of it.
  [[nodiscard]] static Snapshot at_once(const State& state) VRAMSCOPE_REQUIRES(state);
  // Slice by slice. False: there is too little room, and nothing has begun.
  [[nodiscard]] bool take(State& state, const Pace& pace);

  // When it is whole. May throw bad_alloc.
  [[nodiscard]] Snapshot describe();

 private:
  // False: there is too little room, and nothing has begun.
  [[nodiscard]] bool begin(const State& state) VRAMSCOPE_REQUIRES(state);
  // What changes is kept for this copy until stop_keeping().
  void start_keeping(State& state) VRAMSCOPE_REQUIRES(state);
  void stop_keeping(State& state) VRAMSCOPE_REQUIRES(state);
  // Copies so many bytes, or hardly more. True: it is whole.
  [[nodiscard]] bool go_on(std::size_t bytes);

  struct Extent {
    std::size_t blocks = 0, pinned_blocks = 0, segments = 0, block_count = 0;
    Ledger::Copy::Extent ledger;
  };
  [[nodiscard]] static Extent extent_of(const State& state) VRAMSCOPE_REQUIRES(state);
  [[nodiscard]] bool has_room(const State& state) const VRAMSCOPE_REQUIRES(state);

  Extent extent_;
  Snapshot told_;  // what is known at once
  BlockTable::Copy blocks_, pinned_blocks_;
  ListedSegments::Copy segments_;
  Ledger::Copy ledger_;
  BirthTimes birth_times_;
};

}  // namespace vramscope
