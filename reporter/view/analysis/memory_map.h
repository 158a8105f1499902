// MemoryMap says how much of a report's segments is free, in which pieces, and which blocks prevent
// them from going back or from serving larger requests.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "allocator/base/named_enum.h"
#include "reporter/report/report.h"

namespace vramscope {

// A free block is only reused within its pool.
//   small      requests up to 1 MiB share segments
//   large      larger requests share segments, or have one each
//   dedicated  a segment of ours with one block of exactly its size
//   direct     served by the driver itself
#define VRAMSCOPE_MAP_POOLS(X) X(small) X(large) X(dedicated) X(direct)
VRAMSCOPE_NAMED_ENUM(MapPool, std::uint8_t, VRAMSCOPE_MAP_POOLS);

// A segment, and the free memory between its blocks.
struct MapSegment {
  const SegmentFacts* facts = nullptr;
  MapPool pool = MapPool::large;
  std::uint64_t free_bytes = 0;
  std::uint64_t largest_free_bytes = 0;
  std::uint64_t pending_bytes = 0;     // freed, but possibly still in use
  std::uint64_t live_count = 0;        // blocks that are not free, including pending ones
  std::uint64_t returnable_bytes = 0;  // free memory that the driver can have back at once
  // The block whose free would open the largest hole; none if nothing is free, or everything.
  static constexpr std::size_t kNoPin = SIZE_MAX;
  std::size_t pin = kNoPin;      // index into the segment's blocks
  std::uint64_t hole_bytes = 0;  // of the hole that its free opens, with the free blocks next to it
  std::uint64_t gives_back_bytes = 0;  // additional bytes that could then go back to the driver

  [[nodiscard]] bool is_idle() const { return live_count == 0; }
  [[nodiscard]] std::uint64_t stranded_bytes() const { return free_bytes - returnable_bytes; }
};

// Segments that the blocks of one site pin.
struct MapPinner {
  std::int64_t site = -1;
  std::uint64_t segments = 0;
  std::uint64_t stranded_bytes = 0;
  std::uint64_t blocks = 0;       // of the site, in these segments
  std::uint64_t block_bytes = 0;  // of these blocks, with rounding
  // What would go back to the driver if all blocks of the site in them were free: the segments in
  // which no other blocks live, including the memory in use there.
  std::uint64_t gives_back_segments = 0;
  std::uint64_t gives_back_bytes = 0;
  std::int64_t oldest_ns = -1;  // allocation of the oldest pinning block; -1: unknown
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
                                     // first
  std::vector<MapPinner> pinners;    // the most stranded bytes first
  // Requests that are served without a new segment: any up to shared_bytes[small], and those above
  // 1 MiB up to shared_bytes[large]; 0: none. In addition, idle segments that are only handed out
  // whole serve requests of their own size, the largest first.
  std::uint64_t small_request_bytes = 0;
  std::uint64_t large_request_bytes = 0;
  std::vector<std::uint64_t> whole_bytes;

  [[nodiscard]] bool is_direct() const;  // the driver itself served all of it
};

// Returns the kinds that hold memory, those with the most reserved bytes first. Pointers into the
// report are valid as long as the report. May throw bad_alloc.
[[nodiscard]] std::vector<MapPlace> memory_map(const Report& report);

// Returns the thousandths of the free bytes outside of the largest hole, the usual measure of
// external fragmentation; 0 if nothing is free.
[[nodiscard]] std::uint64_t external_fragmentation(const MapPlace& place);

// Returns whether the bytes stranded in `reserved` bytes of segments are worth mentioning: a tenth
// of them, and more than the driver's own rounding of two allocations.
[[nodiscard]] constexpr bool is_fragmented(std::uint64_t stranded, std::uint64_t reserved) {
  constexpr std::uint64_t kTenth = 10;
  constexpr std::uint64_t kLeast = std::uint64_t{4} << 20;
  return stranded >= kLeast && stranded >= reserved / kTenth;
}

}  // namespace vramscope
