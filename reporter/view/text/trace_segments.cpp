// Follows blocks, and draws segments around them.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/trace_segments.h"

#include <algorithm>

#include "reporter/view/text/trace_report.h"

namespace vramscope {
namespace {

constexpr std::uint64_t kBlockStep = 512;         // blocks of device memory are multiples
constexpr std::uint64_t kHostStep = 4096;         // of pinned memory: pages
constexpr std::uint64_t kSmallRequest = 1 << 20;  // such ones share segments
constexpr std::uint64_t kDriverStep = 2 << 20;    // what the driver rounds to

std::uint64_t rounded(std::uint64_t bytes, std::uint64_t step) {
  return bytes > UINT64_MAX - step ? bytes : (bytes + step - 1) / step * step;
}

std::uint64_t size_of(const TraceBlock& block) {
  return rounded(std::max<std::uint64_t>(block.bytes, 1),
                 is_host(block.place.kind) ? kHostStep : kBlockStep);
}

Address end_of(const SegmentFacts& segment) {
  return segment.blocks.empty() ? segment.address
                                : segment.blocks.back().address + segment.blocks.back().size;
}

}  // namespace

void TraceSegments::put_into(Report& report, const TraceNames& names) const {
  std::map<Key, SegmentFacts> segments;
  std::set<Key> chosen;  // that have a block which passes
  for (const auto& [key, extent] : extents_) {
    if (extent.live == 0) continue;
    segments[key] = {.kind = extent.place.kind,
                     .device = extent.place.device,
                     .context = extent.place.context,
                     .address = key.second,
                     .total_size = extent.end - key.second,
                     .is_small = extent.small,
                     .is_dedicated = is_dedicated_,
                     .blocks = {}};
  }
  for (const LiveBlock* block : in_order()) {
    SegmentFacts& segment = segment_of(segments, *block);
    add_block(segment, *block, names);
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

bool TraceSegments::passes(const LiveBlock& block) const {
  const std::uint64_t born_ns = after(first_ns_, block.born_ns);
  return filter_.passes(block.tag, block.place, block.bytes) && born_ns >= filter_.from_ns &&
         born_ns <= filter_.to_ns;
}

void TraceSegments::came(const TraceBlock& block, const Event& event) {
  if (block.slot >= blocks_.size()) blocks_.resize(block.slot + 1);
  blocks_[block.slot] = {.place = block.place,
                         .address = event.address,
                         .bytes = block.bytes,
                         .born_ns = event.start_ns,
                         .tag = block.tag,
                         .direct = block.direct,
                         .live = true};
  if (!block.direct) ++extent_for(block, event).live;
}

void TraceSegments::went(const TraceBlock& block, TraceMemory::End) {
  LiveBlock& gone = blocks_[block.slot];
  gone.live = false;
  if (gone.direct) return;
  const auto it = extent_at({space_of(gone.place.kind), gone.address});
  if (it != extents_.end() && it->second.live != 0) --it->second.live;
}

std::map<TraceSegments::Key, TraceSegments::Extent>::iterator TraceSegments::extent_at(
    const Key& key) {
  auto it = extents_.upper_bound(key);
  if (it == extents_.begin()) return extents_.end();
  --it;
  return it->first.first == key.first ? it : extents_.end();
}

TraceSegments::Extent& TraceSegments::extent_for(const TraceBlock& block, const Event& event) {
  const Key key{space_of(block.place.kind), event.address};
  const Address end = key.second + std::min(size_of(block), UINT64_MAX - key.second);
  const auto it = extent_at(key);
  const bool is_inside = it != extents_.end() && key.second < it->second.end;
  const bool is_new = event.served == Served::driver && !(is_inside && it->second.live != 0);
  if (it != extents_.end() && !is_new && it->second.place == block.place) {
    it->second.end = std::max(it->second.end, end);
    cuts_large_ = cuts_large_ || (!it->second.small && key.second != it->first.second);
    return it->second;
  }
  return begin_extent(key, end, block);
}

TraceSegments::Extent& TraceSegments::begin_extent(const Key& key, Address end,
                                                   const TraceBlock& block) {
  const bool of_device = block.place.kind == Kind::device && !is_dedicated_;
  if (of_device)
    end = key.second + std::min(rounded(end - key.second, kDriverStep), UINT64_MAX - key.second);
  if (const auto before = extent_at(key);
      before != extents_.end() && before->second.live == 0 && before->second.end > key.second) {
    extents_.erase(before);
  }
  auto after = extents_.lower_bound(key);
  while (after != extents_.end() && after->first.first == key.first && after->first.second < end &&
         after->second.live == 0) {
    after = extents_.erase(after);
  }
  Extent& extent = extents_[key];
  extent = {.end = end, .place = block.place, .small = block.bytes <= kSmallRequest};
  return extent;
}

std::vector<const TraceSegments::LiveBlock*> TraceSegments::in_order() const {
  std::vector<const LiveBlock*> order;
  for (const LiveBlock& block : blocks_) {
    if (block.live && holds_memory(block.place.kind)) order.push_back(&block);
  }
  std::sort(order.begin(), order.end(), [](const LiveBlock* a, const LiveBlock* b) {
    return std::make_pair(space_of(a->place.kind), a->address) <
           std::make_pair(space_of(b->place.kind), b->address);
  });
  return order;
}

SegmentFacts& TraceSegments::segment_of(std::map<Key, SegmentFacts>& segments,
                                        const LiveBlock& block) {
  const Key key{space_of(block.place.kind), block.address};
  if (!block.direct) {
    auto it = segments.upper_bound(key);
    if (it != segments.begin() && (--it)->first.first == key.first) return it->second;
  }
  return segments[key] = {.kind = block.place.kind,
                          .device = block.place.device,
                          .context = block.place.context,
                          .address = block.address,
                          .total_size = block.bytes,
                          .is_direct = block.direct,
                          .blocks = {}};
}

void TraceSegments::add_hole(SegmentFacts& segment, Address end) const {
  const Address begin = end_of(segment);
  if (end <= begin) return;
  const std::uint64_t bytes = end - begin;
  const std::uint64_t rest = cuts_large_ ? kSmallRequest : kDriverStep - 1;
  const bool is_large = segment.kind == Kind::device && !segment.is_small && !segment.is_direct;
  if (!is_large || segment.blocks.empty() || bytes > rest) {
    segment.blocks.push_back({.address = begin, .size = bytes});
    return;
  }
  segment.blocks.back().size += bytes;
  segment.allocated_size += bytes;
  segment.active_size += bytes;
}

void TraceSegments::add_block(SegmentFacts& segment, const LiveBlock& block,
                              const TraceNames& names) const {
  const Address segment_end = segment.address + segment.total_size;
  if (block.address < end_of(segment) || block.address >= segment_end) return;
  add_hole(segment, block.address);
  const std::uint64_t step = is_host(block.place.kind) ? kHostStep : kBlockStep;
  const std::uint64_t size = block.direct ? block.bytes : rounded(block.bytes, step);
  const std::uint64_t fits = std::min(size, segment_end - block.address);
  const std::size_t site = site_of_tag(names, block.tag);
  segment.blocks.push_back({.address = block.address,
                            .size = fits,
                            .requested_size = block.bytes,
                            .state = BlockState::active_allocated,
                            .site = site == 0 ? -1 : static_cast<std::int64_t>(site),
                            .born_ns = static_cast<std::int64_t>(after(first_ns_, block.born_ns))});
  segment.allocated_size += fits;
  segment.active_size += fits;
  segment.requested_size += block.bytes;
}

}  // namespace vramscope
