// Recovery reads what an allocator had in live memory when its process died.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "allocator/base/live_memory.h"
#include "allocator/base/snapshot.h"

namespace vramscope {

// The memory that the header belongs to is mapped where it says, at least for reading; nothing is
// written. Every current value is what the blocks add up to, and those that only grow fit it: a
// call that was under way has happened or has not. Throws std::runtime_error with one sentence
// where there is nothing to be recovered, and std::bad_alloc.
[[nodiscard]] Snapshot recover_memory(const LiveHeader& header);

}  // namespace vramscope
