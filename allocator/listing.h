// A listing is made of the records of segments and blocks: of those in memory, of a copy, or of
// those that a dead process left.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "allocator/books/birth_times.h"
#include "allocator/ground/kept_records.h"
#include "allocator/ground/snapshot.h"
#include "allocator/live_books.h"
#include "allocator/pool/block_table.h"

namespace vramscope {

// A table of blocks, as far as it is read: see the rule at BlockTable.
struct Chains {
  Records<Block> blocks;
  Records<BlockLife> lives;
};

struct ListedRecords {
  Records<ListedSegment> segments;  // [0] is none
  Chains pools, pinned;
};

// Snapshot::segments and Snapshot::blocks, in their order. Throws std::runtime_error with one
// sentence where records do not fit each other, and std::bad_alloc.
void list(const ListedRecords& records, const BirthTimes& born, Snapshot& out);

}  // namespace vramscope
