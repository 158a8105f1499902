// A memory copy holds everything of a snapshot as it was at one instant. It is made a slice at a
// time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "allocator/base/snapshot.h"
#include "allocator/books/birth_times.h"
#include "allocator/books/ledger_copy.h"
#include "allocator/live_books.h"
#include "allocator/pool/block_table.h"
#include "allocator/state.h"

namespace vramscope {

// The instant is that of begin(), which copies the counters and the first records. Until the copy
// is complete, every writer to a record that existed then keeps it first, and the fast path, which
// does not, is disabled. A complete copy does not need the allocator.
// Threads: one at a time.
class CachingAllocator::MemoryCopy {
 public:
  MemoryCopy() = default;
  MemoryCopy(const MemoryCopy&) = delete;
  MemoryCopy& operator=(const MemoryCopy&) = delete;

  // Makes room for everything that begin() found and a little more, and touches the pages. Do not
  // hold the lock. May throw bad_alloc.
  void make_room();
  // Copies everything in one step under the lock.
  [[nodiscard]] static Snapshot at_once(const State& state) VRAMSCOPE_REQUIRES(state);
  // Copies slice by slice. Returns false, without having begun, if there is too little room.
  [[nodiscard]] bool take(State& state, const Pace& pace);

  // Returns the snapshot of a complete copy. May throw bad_alloc.
  [[nodiscard]] Snapshot describe();

 private:
  // Returns false, without having begun, if there is too little room.
  [[nodiscard]] bool begin(const State& state) VRAMSCOPE_REQUIRES(state);
  // Between start_keeping() and stop_keeping() changed records are kept for this copy first.
  void start_keeping(State& state) VRAMSCOPE_REQUIRES(state);
  void stop_keeping(State& state) VRAMSCOPE_REQUIRES(state);
  // Copies about `bytes`. Returns true if the copy is complete.
  [[nodiscard]] bool go_on(std::size_t bytes);

  struct Extent {
    std::size_t blocks = 0, pinned_blocks = 0, segments = 0, block_count = 0;
    Ledger::Copy::Extent ledger;
  };
  [[nodiscard]] static Extent extent_of(const State& state) VRAMSCOPE_REQUIRES(state);
  [[nodiscard]] bool has_room(const State& state) const VRAMSCOPE_REQUIRES(state);

  Extent extent_;
  Snapshot told_;  // what begin() knows without records
  BlockTable::Copy blocks_, pinned_blocks_;
  ListedSegments::Copy segments_;
  Ledger::Copy ledger_;
  BirthTimes birth_times_;
};

}  // namespace vramscope
