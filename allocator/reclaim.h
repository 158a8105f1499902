// Reclaim gives segments without a live block back to the backend: all of them, the oversize ones,
// the old ones, or one. What the backend refuses to take back stays what it was.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocator/caching_allocator.h"
#include "allocator/ground/mutex.h"
#include "allocator/place_memory.h"
#include "allocator/segments.h"

namespace vramscope {

// All that takes an Outcome unlocks, and so does may_release(). Threads: one at a time.
class CachingAllocator::Reclaim {
 public:
  enum class ReleaseResult : std::uint8_t {
    released,     // the backend took the segment back
    place_ended,  // the segment went with its place
    retained,     // the backend keeps the segment, and so does the allocator
  };
  struct ReleaseReply {
    ReleaseResult result;
    Status status;  // what a free of the program's is to answer
  };

  // False: a capture forbids it.
  [[nodiscard]] static bool may_release(State& state, Place where) VRAMSCOPE_REQUIRES(state);
  // All idle segments of a device. False: nothing may be released now.
  bool idle(State& state, std::uint16_t device, Outcome& out) VRAMSCOPE_REQUIRES(state);
  // Segments of a device that other threads are giving back have gone when this returns, or a
  // second is over. False: there were none.
  bool await_pending_releases(State& state, std::uint16_t device) VRAMSCOPE_REQUIRES(state);
  // All idle dedicated segments of a place.
  void idle_dedicated(State& state, Place where, Outcome& out) VRAMSCOPE_REQUIRES(state);
  // Idle oversize segments, enough for a block of so many bytes. False: there is no room that
  // another attempt could use.
  [[nodiscard]] bool oversize(State& state, Place where, std::uint64_t rounded, Outcome& out)
      VRAMSCOPE_REQUIRES(state);
  // Old ones, above a share of the limit.
  void collect_garbage(State& state, Place where, Outcome& out) VRAMSCOPE_REQUIRES(state);
  // So many bytes of idle segments of the pools, those that are older than the mean first.
  void oldest(State& state, Place where, std::uint64_t bytes, Outcome& out)
      VRAMSCOPE_REQUIRES(state);
  // The segment of a block that is in no bucket; if the backend refuses, the block is free.
  ReleaseReply dedicated_segment(State& state, DedicatedBlock& block, Outcome& out)
      VRAMSCOPE_REQUIRES(state);
  // One call of the backend for a segment that is in no book: whoever asks takes it back into his
  // when the backend kept it.
  [[nodiscard]] ReleaseReply give_back(State& state, Place where, Address address, Outcome& out)
      VRAMSCOPE_REQUIRES(state);
  // A place that is there no longer: see CachingAllocator::forget_place().
  void forget_place(State& state, Place where) VRAMSCOPE_REQUIRES(state);
  // Segments are on their way to the backend.
  [[nodiscard]] bool is_giving_back() const { return pending_releases_ != nullptr; }
  // So many records of blocks are in no book while this lives.
  class Aside {
   public:
    Aside(Reclaim& reclaim, std::size_t records) : all_(reclaim.records_aside_), records_(records) {
      all_ += records_;
    }
    ~Aside() { all_ -= records_; }
    Aside(const Aside&) = delete;
    Aside& operator=(const Aside&) = delete;

   private:
    std::size_t& all_;
    const std::size_t records_;
  };
  [[nodiscard]] std::size_t records_aside() const { return records_aside_; }
  // A share of bytes, truncated.
  [[nodiscard]] static std::uint64_t part_of(std::uint64_t bytes, double share);

 private:
  class Walk;
  // A segment that the backend is being asked to take back: it is in no book. Lives on the stack of
  // the thread that asks.
  struct PendingRelease {
    Place where;
    std::uint32_t thread = 0;  // this_holder() of it
    bool lost = false;         // its place has ended meanwhile
    PendingRelease* next = nullptr;
  };
  // An idle segment of a pool leaves our books. The record of its block stays, until it comes back
  // or is destroyed.
  [[nodiscard]] static Segments::node_type set_aside(State& state, Segments::iterator it)
      VRAMSCOPE_REQUIRES(state);
  static void forget_blocks(State& state, PlaceMemory& place, const Segment& segment)
      VRAMSCOPE_REQUIRES(state);
  template <class Wanted>
  std::uint64_t where_wanted(State& state, Place where, Wanted wanted, Outcome& out)
      VRAMSCOPE_REQUIRES(state);
  template <class Look>
  static void each_idle_large(State& state, Place where, Look look) VRAMSCOPE_REQUIRES(state);
  ReleaseResult pool_segment(State& state, Segments::iterator it, Outcome& out)
      VRAMSCOPE_REQUIRES(state);
  [[nodiscard]] static bool is_idle(State& state, const Segment& segment) VRAMSCOPE_REQUIRES(state);
  [[nodiscard]] static std::uint32_t age(State& state, const Segment& segment)
      VRAMSCOPE_REQUIRES(state);

  PendingRelease* pending_releases_ = nullptr;
  std::size_t records_aside_ = 0;  // of blocks of departing segments
};

}  // namespace vramscope
