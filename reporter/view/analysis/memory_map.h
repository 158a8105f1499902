// MemoryMap says how much of a report's segments is free, in which pieces, and which blocks keep
// them from being given back or from serving larger requests.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "allocator/ground/named_enum.h"
#include "reporter/report/report.h"

namespace vramscope {

// Blocks of one pool are exchanged for each other only.
//   small      requests of 1 MiB and less share segments
//   large      the others do, or have one each
//   dedicated  a block of exactly its size, of ours
//   direct     from the driver itself
#define VRAMSCOPE_MAP_POOLS(X) X(small) X(large) X(dedicated) X(direct)
VRAMSCOPE_NAMED_ENUM(MapPool, std::uint8_t, VRAMSCOPE_MAP_POOLS);

// A segment, and what its blocks leave free.
struct MapSegment {
  const SegmentFacts* facts = nullptr;
  MapPool pool = MapPool::large;
  std::uint64_t free_bytes = 0;
  std::uint64_t largest_free_bytes = 0;
  std::uint64_t pending_bytes = 0;     // freed, but perhaps in use yet
  std::uint64_t live_count = 0;        // blocks that are not free, pending ones too
  std::uint64_t returnable_bytes = 0;  // free, and the driver can have it back at once
  // The block whose free opens the largest hole; none when nothing is free, or everything.
  static constexpr std::size_t kNoPin = SIZE_MAX;
  std::size_t pin = kNoPin;            // index into the segment's blocks
  std::uint64_t hole_bytes = 0;        // that its free opens, with the free blocks beside it
  std::uint64_t gives_back_bytes = 0;  // that could go back to the driver then, more than now

  [[nodiscard]] bool is_idle() const { return live_count == 0; }
  [[nodiscard]] std::uint64_t stranded_bytes() const { return free_bytes - returnable_bytes; }
};

// Segments that blocks of one site pin.
struct MapPinner {
  std::int64_t site = -1;
  std::uint64_t segments = 0;
  std::uint64_t stranded_bytes = 0;
  std::uint64_t blocks = 0;       // of the site, in these segments
  std::uint64_t block_bytes = 0;  // of these, with rounding
  // What would go back to the driver once all blocks of the site in them are free: segments in
  // which no others live, with what is in use there.
  std::uint64_t gives_back_segments = 0;
  std::uint64_t gives_back_bytes = 0;
  std::int64_t oldest_ns = -1;  // when the first of the pinning blocks was allocated; -1: unknown
};

// One kind of memory on one device.
struct MapPlace {
  Kind kind = Kind::device;
  std::uint16_t device = 0;
  std::uint64_t total_bytes = 0;
  std::uint64_t allocated_bytes = 0;
  std::uint64_t requested_bytes = 0;  // of allocated blocks
  std::uint64_t live_count = 0;       // of allocated blocks
  std::uint64_t pending_bytes = 0;
  std::uint64_t free_bytes = 0;
  std::uint64_t largest_free_bytes = 0;
  std::uint64_t stranded_bytes = 0;
  std::uint64_t stranded_segments = 0;
  std::uint64_t idle_segments = 0;
  std::uint64_t returnable_bytes = 0;
  std::vector<MapSegment> segments;  // the most stranded bytes first, then idle ones, the largest
                                     // first
  std::vector<MapPinner> pinners;    // the most stranded bytes first
  // What is served without a new segment: any request up to shared_bytes[small], and of more than
  // 1 MiB up to shared_bytes[large]; 0: none. Besides, idle segments that are handed out whole only
  // serve requests of their own size, the largest first.
  std::uint64_t small_request_bytes = 0;
  std::uint64_t large_request_bytes = 0;
  std::vector<std::uint64_t> whole_bytes;

  [[nodiscard]] bool is_direct() const;  // all of it came from the driver itself
};

// Of the kinds that hold memory, those with the most reserved bytes first. What refers to the
// report lives as long as that. May throw bad_alloc.
[[nodiscard]] std::vector<MapPlace> memory_map(const Report& report);

// Thousandths of the free bytes that lie outside of the largest hole: the usual measure of external
// fragmentation. 0 when nothing is free.
[[nodiscard]] std::uint64_t external_fragmentation(const MapPlace& place);

// Whether what is stranded in `reserved` bytes of segments is worth the word: a tenth of them, and
// more than the driver's own rounding of two allocations.
[[nodiscard]] constexpr bool is_fragmented(std::uint64_t stranded, std::uint64_t reserved) {
  constexpr std::uint64_t kTenth = 10;
  constexpr std::uint64_t kLeast = std::uint64_t{4} << 20;
  return stranded >= kLeast && stranded >= reserved / kTenth;
}

}  // namespace vramscope
