// Pinned memory of ours as Policy::native_safe keeps it: segments cut into blocks of whole pages,
// with what each place has of them. allocator/pinned.h has the steps.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>

#include "allocator/place_memory.h"
#include "allocator/pool/block_table.h"
#include "allocator/pool/pool.h"

namespace vramscope {

struct PinnedSegment {
  std::uint64_t bytes = 0;
  BlockIndex first = kNoBlock;  // the same record all its life
  std::uint16_t slot = 0;
  PoolClass pool = PoolClass::large;
  std::uint32_t listed = 0;  // slot of ListedSegments
};

// Its blocks are in a table of their own: addresses of the host lie between those of devices, and
// who frees device memory must not find them. Threads: one at a time.
struct PinnedMemory {
  using Segments = std::map<Address, PinnedSegment>;

  explicit PinnedMemory(LiveMemory* live)
      : blocks({live, LivePart::pinned_blocks}, {live, LivePart::pinned_block_lives}) {}

  // A place that is not there yet; nullptr: out of memory.
  [[nodiscard]] PinnedPlace* add(Place where) noexcept;
  // Two more records, one more address, and room for all as free blocks. False: out of memory.
  [[nodiscard]] bool prepare() noexcept;

  // The segment, or the block, that an address lies in; end(), kNoBlock: none.
  [[nodiscard]] Segments::const_iterator segment_around(Address address) const noexcept;
  [[nodiscard]] BlockIndex block_around(Address address) const noexcept;
  [[nodiscard]] bool overlaps(Address address, std::uint64_t bytes) const noexcept;
  // Without a live block or one that may be in use still.
  [[nodiscard]] bool is_idle(const PinnedSegment& segment) const noexcept {
    return blocks[segment.first].is_free() && !blocks[segment.first].is_part();
  }
  // How many requests had to ask for a segment since it became idle.
  [[nodiscard]] std::uint32_t age(const PinnedSegment& segment) const noexcept {
    return places[segment.slot]->pools.age(blocks[segment.first]);
  }
  // The one that has been idle for longest, the lowest address among equals; end(): none is.
  [[nodiscard]] Segments::iterator oldest_idle() noexcept;

  BlockTable blocks;
  Places<PinnedPlace> places;
  Segments segments;
  std::uint64_t reserved = 0;    // bytes of the segments
  std::uint64_t held = 0;        // of blocks that are not free
  std::uint64_t most_held = 0;   // at once, ever
  std::uint64_t host_bytes = 0;  // of all memory of the host; 0 before the first place
};

}  // namespace vramscope
