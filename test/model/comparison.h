// What must be equal between the allocator and its judge, and within one snapshot.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "allocator/base/snapshot.h"
#include "test/model/naive_model.h"

namespace vramscope {

// Both say what is different first, or nothing.

// Every key, segment, block, tag and kind of the snapshot against the model.
std::string difference(const Snapshot& snapshot, const NaiveModel& model);

// The snapshot against itself: blocks tile their segments and are merged, every current value is
// what a walk over the blocks gives, tags add up to the totals of their kind, now and at the peak.
std::string inconsistency(const Snapshot& snapshot);

// Tags of the test: a block of kTagsPerAccount for each (kind, device).
inline constexpr Tag kTagsPerAccount = 8;
inline constexpr Tag account_index(Kind kind, std::uint16_t device) {
  return static_cast<Tag>(kind) * 2 + device;
}

}  // namespace vramscope
