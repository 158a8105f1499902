// list() makes a snapshot's segments and blocks from their records: those in memory, those of a
// copy, or those of a dead process.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "allocator/base/kept_records.h"
#include "allocator/base/snapshot.h"
#include "allocator/books/birth_times.h"
#include "allocator/live_books.h"
#include "allocator/pool/block_table.h"

namespace vramscope {

// The part of a table of blocks that is read: see the rule at BlockTable.
struct Chains {
  Records<Block> blocks;
  Records<BlockLife> lives;
};

struct ListedRecords {
  Records<ListedSegment> segments;  // [0] is none
  Chains pools, pinned;
};

// Fills Snapshot::segments and Snapshot::blocks, in their order. Throws std::runtime_error with one
// sentence if records contradict each other, and std::bad_alloc.
void list(const ListedRecords& records, const BirthTimes& born, Snapshot& out);

}  // namespace vramscope
