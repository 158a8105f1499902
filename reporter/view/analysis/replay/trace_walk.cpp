// Keeps the blocks that live at a point of a trace.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/replay/trace_walk.h"

#include <algorithm>
#include <iterator>

namespace vramscope {

void TraceWalk::event(const FollowedEvent& now) {
  if (!now.passes && !now.ends_place()) return;
  now_ns_ = std::max(now_ns_, now.instant_ns);
  if (event_) event_(now.one);
}

void TraceWalk::came(const TraceBlock& block, const FollowedEvent& now) {
  if (!block.passes || !holds_memory(block.place.kind)) return;
  if (block.slot >= blocks_.size()) blocks_.resize(block.slot + std::size_t{1});
  WalkedBlock& walked = blocks_[block.slot];
  walked = {block, now_ns_, ++number_};
  change_(walked, now, now_ns_, true);
}

void TraceWalk::went(const TraceBlock& block, const FollowedEvent& now, TraceMemory::End) {
  if (!block.passes || !holds_memory(block.place.kind)) return;
  WalkedBlock& walked = blocks_[block.slot];
  change_(walked, now, now_ns_, false);
  walked.number = 0;
}

std::vector<WalkedBlock> TraceWalk::live() const {
  std::vector<WalkedBlock> result;
  std::copy_if(blocks_.begin(), blocks_.end(), std::back_inserter(result),
               [](const WalkedBlock& block) { return block.number != 0; });
  return result;
}

}  // namespace vramscope
