// Follows blocks up to the peak and beyond.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/advice/peak_blocks.h"

#include <utility>

namespace vramscope {

void PeakInstant::event(const FollowedEvent& now) {
  const Event& event = now.one.event;
  has_refusal_ = has_refusal_ || (event.failed && is_allocating(event.effect));
}

void PeakInstant::came(const TraceBlock& block, const FollowedEvent& now) {
  if (!takes_device_memory(block.place.kind)) return;
  OfDevice& device = devices_[block.place.device];
  device.live += block.bytes;
  if (device.live <= device.peak.bytes) return;
  device.peak = {.device = block.place.device,
                 .bytes = device.live,
                 .event = now.number,
                 .at_ns = now.at_ns,
                 .tag = block.tag};
}

void PeakInstant::went(const TraceBlock& block, const FollowedEvent&, TraceMemory::End) {
  if (takes_device_memory(block.place.kind)) devices_[block.place.device].live -= block.bytes;
}

PeakInstant::Found PeakInstant::highest() const {
  Found highest;
  for (const auto& [number, device] : devices_) {
    if (device.peak.bytes > highest.bytes) highest = device.peak;
  }
  return highest;
}

bool PeakBlocks::counts(const TraceBlock& block) const {
  return takes_device_memory(block.place.kind) && block.place.device == peak_.device;
}

void PeakBlocks::came(const TraceBlock& block, const FollowedEvent& now) {
  if (!counts(block)) return;
  ++allocations_;
  if (is_past_) return;
  if (live_.size() <= block.slot) live_.resize(block.slot + std::size_t{1});
  live_[block.slot] = block;
  last_[block.tag] = {.at_ns = now.at_ns, .number = allocations_};
  if (now.number != peak_.event) return;
  is_past_ = true;
  until_peak_ = allocations_;
  for (std::uint32_t slot = 0; slot < live_.size(); ++slot) {
    const TraceBlock& one = live_[slot];
    if (one.bytes == 0) continue;
    at_peak_[slot] = blocks_.size();
    blocks_.push_back({.tag = one.tag, .kind = one.place.kind, .bytes = one.bytes});
  }
}

void PeakBlocks::went(const TraceBlock& block, const FollowedEvent&, TraceMemory::End how) {
  if (!counts(block)) return;
  if (!is_past_) {
    live_[block.slot].bytes = 0;
    return;
  }
  const auto found = at_peak_.find(block.slot);
  if (found == at_peak_.end()) return;
  Block& its = blocks_[found->second];
  its.is_freed = how == TraceMemory::End::freed;
  its.allocations = allocations_;
  at_peak_.erase(found);
}

void PeakBlocks::finish() {
  for (Block& block : blocks_) block.is_followed = block.allocations < allocations_;
}

}  // namespace vramscope
