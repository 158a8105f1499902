// Reclaim gives segments without a live block back to the backend: all of them, the oversize ones,
// the old ones, or one. A segment that the backend refuses to take back stays unchanged.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocator/base/mutex.h"
#include "allocator/caching_allocator.h"
#include "allocator/place_memory.h"
#include "allocator/segments.h"

namespace vramscope {

// Every function that takes an Outcome unlocks, and so does may_release(). Threads: one at a time.
class CachingAllocator::Reclaim {
 public:
  enum class ReleaseResult : std::uint8_t {
    released,     // the backend took the segment back
    place_ended,  // the segment went with its place
    retained,     // the backend keeps the segment, and so does the allocator
  };
  struct ReleaseReply {
    ReleaseResult result;
    Status status;  // the answer to the program's free
  };

  // Returns false if a capture forbids a release.
  [[nodiscard]] static bool may_release(State& state, Place where) VRAMSCOPE_REQUIRES(state);
  // Releases all idle segments of a device. Returns false if nothing may be released now.
  bool idle(State& state, std::uint16_t device, Outcome& out) VRAMSCOPE_REQUIRES(state);
  // Waits, for at most a second, until other threads have given back the device's segments that
  // they are releasing. Returns false if there were none.
  bool await_pending_releases(State& state, std::uint16_t device) VRAMSCOPE_REQUIRES(state);
  // Releases all idle dedicated segments of a place.
  void idle_dedicated(State& state, Place where, Outcome& out) VRAMSCOPE_REQUIRES(state);
  // Releases idle oversize segments, enough for a block of `rounded` bytes. Returns false if that
  // made no room for another attempt.
  [[nodiscard]] bool oversize(State& state, Place where, std::uint64_t rounded, Outcome& out)
      VRAMSCOPE_REQUIRES(state);
  // Releases old segments above a share of the limit.
  void collect_garbage(State& state, Place where, Outcome& out) VRAMSCOPE_REQUIRES(state);
  // Releases `bytes` of the pools' idle segments, those that are older than the mean first.
  void oldest(State& state, Place where, std::uint64_t bytes, Outcome& out)
      VRAMSCOPE_REQUIRES(state);
  // Releases the segment of a block that is in no bucket. If the backend refuses, the block is
  // free.
  ReleaseReply dedicated_segment(State& state, DedicatedBlock& block, Outcome& out)
      VRAMSCOPE_REQUIRES(state);
  // Calls the backend once for a segment that is in no book. If the backend keeps it, the caller
  // enters it again.
  [[nodiscard]] ReleaseReply give_back(State& state, Place where, Address address, Outcome& out)
      VRAMSCOPE_REQUIRES(state);
  // Drops a place that no longer exists: see CachingAllocator::forget_place().
  void forget_place(State& state, Place where) VRAMSCOPE_REQUIRES(state);
  // Whether segments are being released.
  [[nodiscard]] bool is_giving_back() const { return pending_releases_ != nullptr; }
  // While this lives, it counts `records` records of blocks that are in no book.
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
  // Returns a share of bytes, truncated.
  [[nodiscard]] static std::uint64_t part_of(std::uint64_t bytes, double share);

 private:
  class Walk;
  // A segment that is being released and is in no book. It lies on the stack of the thread that
  // releases it.
  struct PendingRelease {
    Place where;
    std::uint32_t thread = 0;  // this_holder() of it
    bool lost = false;         // its place has ended meanwhile
    PendingRelease* next = nullptr;
  };
  // Removes an idle segment of a pool from the books. The record of its block stays until it is
  // restored or destroyed.
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
  std::size_t records_aside_ = 0;  // of blocks of segments that are being released
};

}  // namespace vramscope
