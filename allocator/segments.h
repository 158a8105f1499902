// Segments of pools, by address: plain segments and reservations.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>

#include "allocator/base/place.h"
#include "allocator/base/size_policy.h"
#include "allocator/pool/block_table.h"

namespace vramscope {

struct Segment {
  std::uint64_t bytes = 0;
  BlockIndex first = kNoBlock;  // the same record while the segment exists
  std::uint16_t slot = 0;
  PoolClass pool = PoolClass::large;
  std::uint32_t listed = 0;  // slot of ListedSegments
  std::uint64_t page = 0;    // bytes; 0: plain, else a reservation (see ExpandableBlocks)
};

using Segments = std::map<Address, Segment>;

}  // namespace vramscope
