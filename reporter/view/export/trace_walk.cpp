// Keeps the blocks that live at a point of a trace.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/export/trace_walk.h"

#include <algorithm>

namespace vramscope {

std::string TraceWalk::run() {
  start_ns_ = exported_.start_clock_ns();
  return exported_.read([this](const TraceEvent& event) {
    event_ = &event;
    const std::uint64_t at = event.event.start_ns;
    now_ns_ = std::max(now_ns_, at - std::min(at, start_ns_));
    if (visitor_.event) visitor_.event(event);
    memory_.add(event, *this);
  });
}

bool TraceWalk::wants(const TraceBlock& block) { return holds_memory(block.place.kind); }

void TraceWalk::came(const TraceBlock& block, const Event& event) {
  if (!wants(block)) return;
  if (block.slot >= blocks_.size()) blocks_.resize(block.slot + std::size_t{1});
  WalkedBlock& walked = blocks_[block.slot];
  walked = {.place = block.place,
            .tag = block.tag,
            .bytes = block.bytes,
            .address = event.address,
            .born_ns = now_ns_,
            .number = ++number_};
  if (visitor_.came) visitor_.came(walked, *event_);
}

void TraceWalk::went(const TraceBlock& block, TraceMemory::End) {
  if (!wants(block) || block.slot >= blocks_.size()) return;
  WalkedBlock& walked = blocks_[block.slot];
  if (visitor_.went) visitor_.went(walked, *event_);
  walked.number = 0;
}

std::vector<WalkedBlock> TraceWalk::live() const {
  std::vector<WalkedBlock> result;
  std::copy_if(blocks_.begin(), blocks_.end(), std::back_inserter(result),
               [](const WalkedBlock& block) { return block.number != 0; });
  return result;
}

}  // namespace vramscope
