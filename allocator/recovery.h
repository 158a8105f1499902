// Recovery reads what an allocator had in live memory when its process died.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "allocator/base/live_memory.h"
#include "allocator/base/snapshot.h"
#include "allocator/books/recount.h"

namespace vramscope {

// The memory that the header belongs to is mapped where it says, at least for reading; nothing is
// written. Every current value is what the blocks add up to, and those that only grow fit it: a
// call that was under way has happened or has not. Throws std::runtime_error with one sentence
// where there is nothing to be recovered, and std::bad_alloc.
[[nodiscard]] Snapshot recover_memory(const LiveHeader& header);

// Copies bytes of a process that runs, as they are now. address: one of that process. Returns false
// if they are not in its file.
using ReadNow = std::function<bool(void* to, std::uint64_t address, std::size_t bytes)>;

// Reads what an allocator has while its process allocates and frees. No copy of its file is of one
// instant then, so the records of blocks are read twice, and the counters between. A number of an
// allocation is never used again. So a block that is the same in both readings was live all the
// time between them, and also when the counters were read. The counters are read until two readings
// in a row are equal. What was allocated or freed meanwhile is in the counters alone.
class MovingMemory {
 public:
  // Reads. image: a copy of the file, mapped where the header says; what it says of memory is not
  // used. Throws std::runtime_error with one sentence, and std::bad_alloc.
  MovingMemory(const LiveHeader& image, const ReadNow& now);

  // Returns the counters, the kinds and what each tag holds, without segments and blocks. The tags
  // hold at most what their kind holds. image: another copy, made after this object. Its counters
  // are overwritten.
  [[nodiscard]] Snapshot snapshot(const LiveHeader& image) const;

 private:
  struct Counter {  // bytes of the program
    std::uint64_t address = 0;
    std::vector<std::byte> value;
  };
  void read_counters(const LiveHeader& image, const ReadNow& now);
  void put_counters() const;

  std::vector<Counter> counters_;
  LedgerRecount live_;
};

}  // namespace vramscope
