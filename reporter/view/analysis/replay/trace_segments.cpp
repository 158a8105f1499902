// Follows blocks, and draws segments around them.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/replay/trace_segments.h"

#include <algorithm>
#include <set>

#include "reporter/view/analysis/replay/trace_report.h"
#include "reporter/view/analysis/segment_sizes.h"

namespace vramscope {
namespace {

std::uint64_t rounded(std::uint64_t bytes, std::uint64_t step) {
  return bytes > UINT64_MAX - step ? bytes : (bytes + step - 1) / step * step;
}

Address end_of(const SegmentFacts& segment) {
  return segment.blocks.empty() ? segment.address
                                : segment.blocks.back().address + segment.blocks.back().size;
}

}  // namespace

void TraceSegments::put_into(Report& report) {
  std::map<Key, SegmentFacts> segments;
  std::set<Key> chosen;  // that have a block which passes
  for (const auto& [key, extent] : extents_.all()) {
    if (extents_.are_inferred() && extent.live == 0) continue;
    segments[key] = facts_of(key, extent);
    if (passes_idle(extent.place)) chosen.insert(key);
  }
  for (const TraceBlock* block : in_order()) {
    SegmentFacts& segment = segment_of(segments, *block);
    add_block(segment, *block);
    if (passes(*block)) chosen.insert({space_of(segment.kind), segment.address});
  }
  std::map<std::uint16_t, DeviceReport> devices;
  for (auto& [key, segment] : segments) {
    if (chosen.count(key) == 0) continue;
    add_hole(segment, segment.address + segment.total_size);
    if (segment.kind == Kind::pinned) {
      report.host.segments.push_back(std::move(segment));
    } else if (is_host(segment.kind)) {
      report.host.registrations.push_back(std::move(segment));
    } else {
      devices[segment.device].segments.push_back(std::move(segment));
    }
  }
  for (auto& [index, device] : devices) {
    device.facts.index = index;
    report.devices.push_back(std::move(device));
  }
}

SegmentFacts TraceSegments::facts_of(const Key& key, const TraceExtent& extent) const {
  return {.kind = extent.place.kind,
          .device = extent.place.device,
          .context = extent.place.context,
          .address = key.second,
          .total_size = extent.end - key.second,
          .is_small = extent.was_used && extent.small,
          .is_expandable = extent.page_bytes != 0,
          .is_dedicated = is_dedicated_,
          .blocks = {}};
}

bool TraceSegments::passes(const TraceBlock& block) const {
  const TraceFilter& filter = trace_.filter();
  const std::uint64_t born_ns = after(trace_.begin_ns(), block.born_ns);
  return filter.passes(block.tag, block.place, block.bytes) && born_ns >= filter.from_ns &&
         born_ns <= filter.to_ns;
}

void TraceSegments::event(const FollowedEvent& now) {
  is_over_ = is_over_ || now.instant_ns > until_ns_;
  if (is_over_) return;
  at_ns_ = now.at_ns;
  last_end_ns_ = now.one.event.start_ns + now.one.event.total_ns;
  extents_.advance_to(now.one);
}

void TraceSegments::came(const TraceBlock& block, const FollowedEvent& now) {
  if (is_over_) return;
  if (block.slot >= blocks_.size()) blocks_.resize(block.slot + std::size_t{1});
  blocks_[block.slot] = block;
  if (!block.direct) extents_.came(block, now.one.event);
}

void TraceSegments::went(const TraceBlock& block, const FollowedEvent&, TraceMemory::End) {
  if (is_over_) return;
  blocks_[block.slot].reset();
  if (!block.direct) extents_.went({space_of(block.place.kind), block.address});
}

std::vector<const TraceBlock*> TraceSegments::in_order() const {
  std::vector<const TraceBlock*> order;
  for (const std::optional<TraceBlock>& block : blocks_) {
    if (block && holds_memory(block->place.kind)) order.push_back(&*block);
  }
  std::sort(order.begin(), order.end(), [](const TraceBlock* a, const TraceBlock* b) {
    return std::make_pair(space_of(a->place.kind), a->address) <
           std::make_pair(space_of(b->place.kind), b->address);
  });
  return order;
}

SegmentFacts& TraceSegments::segment_of(std::map<Key, SegmentFacts>& segments,
                                        const TraceBlock& block) {
  const Key key{space_of(block.place.kind), block.address};
  if (!block.direct) {
    auto it = segments.upper_bound(key);
    const bool is_any = it != segments.begin() && (--it)->first.first == key.first;
    if (is_any && key.second - it->first.second < it->second.total_size) return it->second;
  }
  return segments[key] = {.kind = block.place.kind,
                          .device = block.place.device,
                          .context = block.place.context,
                          .address = block.address,
                          .total_size = block.bytes,
                          .is_direct = block.direct,
                          .blocks = {}};
}

std::uint64_t TraceSegments::most_rest(const SegmentFacts& segment) const {
  if (segment.kind == Kind::pinned && extents_.keeps_pinned_whole()) return UINT64_MAX;
  const bool is_large = segment.kind == Kind::device && !segment.is_small && !segment.is_direct &&
                        !segment.is_expandable;
  return !is_large ? 0 : extents_.cuts_large() ? kSmallRequest : kDriverStep - 1;
}

void TraceSegments::add_hole(SegmentFacts& segment, Address end) const {
  const Address begin = end_of(segment);
  if (end <= begin) return;
  const std::uint64_t bytes = end - begin;
  if (segment.blocks.empty() || bytes > most_rest(segment)) {
    segment.blocks.push_back({.address = begin, .size = bytes});
    return;
  }
  segment.blocks.back().size += bytes;
  segment.allocated_size += bytes;
  segment.active_size += bytes;
}

void TraceSegments::add_block(SegmentFacts& segment, const TraceBlock& block) const {
  const Address segment_end = segment.address + segment.total_size;
  if (block.address < end_of(segment) || block.address >= segment_end) return;
  add_hole(segment, block.address);
  const std::uint64_t step = is_host(block.place.kind) ? kHostStep : kBlockStep;
  const std::uint64_t size = block.direct ? block.bytes : rounded(block.bytes, step);
  const std::uint64_t fits = std::min(size, segment_end - block.address);
  const std::size_t site = site_of_tag(trace_.names(), block.tag);
  const std::uint64_t born_ns = after(trace_.begin_ns(), block.born_ns);
  segment.blocks.push_back({.address = block.address,
                            .size = fits,
                            .requested_size = block.bytes,
                            .state = BlockState::active_allocated,
                            .site = site == 0 ? -1 : static_cast<std::int64_t>(site),
                            .born_ns = static_cast<std::int64_t>(born_ns)});
  segment.allocated_size += fits;
  segment.active_size += fits;
  segment.requested_size += block.bytes;
}

}  // namespace vramscope
