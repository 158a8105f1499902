// Looks for holes in segments and for the blocks that make them.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/memory_map.h"

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>

#include "reporter/report/holes.h"
#include "reporter/report/reserved_memory.h"
#include "reporter/view/analysis/segment_sizes.h"

namespace vramscope {
namespace {

using Blocks = std::vector<BlockFacts>;

bool is_free(const BlockFacts& block) { return block.state == BlockState::inactive; }

MapPool pool_of(const SegmentFacts& segment) {
  if (segment.is_direct) return MapPool::direct;
  if (segment.is_dedicated || segment.is_exported) return MapPool::dedicated;
  return segment.is_small ? MapPool::small : MapPool::large;
}

// The hole that a free of the block opens.
struct Hole {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};
Hole hole_without(const SegmentFacts& segment, std::size_t index) {
  const Blocks& blocks = segment.blocks;
  Hole hole{.offset = blocks[index].address - segment.address, .bytes = blocks[index].size};
  if (index != 0 && is_free(blocks[index - 1])) {
    hole.offset -= blocks[index - 1].size;
    hole.bytes += blocks[index - 1].size;
  }
  if (index + 1 < blocks.size() && is_free(blocks[index + 1])) hole.bytes += blocks[index + 1].size;
  return hole;
}

// Looks at the free pieces and chooses the pin.
void look_into(const Report& report, MapSegment& found) {
  const SegmentFacts& segment = *found.facts;
  std::uint64_t best = 0;
  for (std::size_t i = 0; i < segment.blocks.size(); ++i) {
    const BlockFacts& block = segment.blocks[i];
    if (is_free(block)) {
      found.returnable_bytes +=
          returnable_bytes(report, segment, block.address - segment.address, block.size);
      continue;
    }
    if (block.state == BlockState::active_pending_free) found.pending_bytes += block.size;
    const Hole hole = hole_without(segment, i);
    if (found.free_bytes == 0 ||
        std::tie(hole.bytes, block.size) <= std::tie(found.hole_bytes, best))
      continue;
    best = block.size;
    found.pin = i;
    found.hole_bytes = hole.bytes;
    found.gives_back_bytes = returnable_bytes(report, segment, hole.offset, hole.bytes);
  }
  if (found.stranded_bytes() == 0) found.pin = MapSegment::kNoPin;
  if (found.pin == MapSegment::kNoPin) found.hole_bytes = found.gives_back_bytes = 0;
}

MapSegment describe(const Report& report, const SegmentFacts& segment) {
  MapSegment found{.facts = &segment, .pool = pool_of(segment)};
  const Holes holes = holes_of(segment.blocks);
  found.free_bytes = holes.free_bytes;
  found.largest_free_bytes = holes.largest_free_bytes;
  found.live_count = holes.live_count;
  look_into(report, found);
  return found;
}

void add_to(MapPlace& place, const MapSegment& segment) {
  place.total_bytes += segment.facts->total_size;
  place.allocated_bytes += segment.facts->allocated_size;
  place.pending_bytes += segment.pending_bytes;
  for (const BlockFacts& block : segment.facts->blocks) {
    if (block.state != BlockState::active_allocated) continue;
    place.requested_bytes += block.requested_size;
    ++place.live_count;
  }
  place.free_bytes += segment.free_bytes;
  place.largest_free_bytes = std::max(place.largest_free_bytes, segment.largest_free_bytes);
  place.returnable_bytes += segment.returnable_bytes;
  place.stranded_bytes += segment.stranded_bytes();
  place.stranded_segments += segment.stranded_bytes() != 0 ? 1 : 0;
  place.idle_segments += segment.is_idle() ? 1 : 0;
}

// What its blocks of the site come to.
void add_pinner(std::map<std::int64_t, MapPinner>& pinners, const MapSegment& segment) {
  const Blocks& blocks = segment.facts->blocks;
  MapPinner& pinner = pinners[blocks[segment.pin].site];
  pinner.site = blocks[segment.pin].site;
  ++pinner.segments;
  pinner.stranded_bytes += segment.stranded_bytes();
  bool alone = true;
  for (const BlockFacts& block : blocks) {
    if (is_free(block)) continue;
    if (block.site != pinner.site) {
      alone = false;
      continue;
    }
    ++pinner.blocks;
    pinner.block_bytes += block.size;
    if (block.born_ns < 0) continue;
    if (pinner.oldest_ns < 0 || block.born_ns < pinner.oldest_ns) pinner.oldest_ns = block.born_ns;
  }
  if (!alone) return;
  ++pinner.gives_back_segments;
  pinner.gives_back_bytes += segment.facts->total_size;
}

void find_pinners(MapPlace& place) {
  std::map<std::int64_t, MapPinner> pinners;
  for (const MapSegment& segment : place.segments) {
    if (segment.pin != MapSegment::kNoPin) add_pinner(pinners, segment);
  }
  for (const auto& [site, pinner] : pinners) place.pinners.push_back(pinner);
  std::stable_sort(place.pinners.begin(), place.pinners.end(),
                   [](const MapPinner& a, const MapPinner& b) {
                     return std::tie(a.stranded_bytes, a.gives_back_bytes) >
                            std::tie(b.stranded_bytes, b.gives_back_bytes);
                   });
}

bool cuts_large_segments(const Report& report, const MapPlace& place) {
  if (place.kind == Kind::pinned) return true;
  for (const auto& [name, value] : report.process.options) {
    if (name == "policy" && value == "pytorch") return true;
  }
  return std::any_of(place.segments.begin(), place.segments.end(), [](const MapSegment& segment) {
    return segment.pool == MapPool::large && segment.facts->blocks.size() > 1;
  });
}

void find_requests(const Report& report, MapPlace& place) {
  const bool cuts_large = cuts_large_segments(report, place);
  for (const MapSegment& segment : place.segments) {
    if (segment.pool == MapPool::small) {
      place.small_request_bytes = std::max(place.small_request_bytes, segment.largest_free_bytes);
    } else if (segment.pool == MapPool::large && cuts_large) {
      place.large_request_bytes = std::max(place.large_request_bytes, segment.largest_free_bytes);
    } else if (segment.pool != MapPool::direct && segment.is_idle()) {
      place.whole_bytes.push_back(segment.facts->total_size);
    }
  }
  place.small_request_bytes = std::min(place.small_request_bytes, kSmallRequest);
  if (place.large_request_bytes <= kSmallRequest) place.large_request_bytes = 0;
  std::sort(place.whole_bytes.begin(), place.whole_bytes.end(), std::greater<>());
  const auto end = std::unique(place.whole_bytes.begin(), place.whole_bytes.end());
  place.whole_bytes.erase(end, place.whole_bytes.end());
}

bool comes_first(const MapSegment& a, const MapSegment& b) {
  const std::uint64_t stranded_a = a.stranded_bytes(), stranded_b = b.stranded_bytes();
  return std::tie(stranded_a, a.free_bytes, a.facts->total_size, b.facts->address) >
         std::tie(stranded_b, b.free_bytes, b.facts->total_size, a.facts->address);
}

using Places = std::map<std::pair<Kind, std::uint16_t>, MapPlace>;

void add_segments(const Report& report, Places& places, const std::vector<SegmentFacts>& segments) {
  for (const SegmentFacts& segment : segments) {
    if (!holds_memory(segment.kind)) continue;
    MapPlace& place = places[{segment.kind, segment.device}];
    place.kind = segment.kind;
    place.device = segment.device;
    place.segments.push_back(describe(report, segment));
    add_to(place, place.segments.back());
  }
}

}  // namespace

bool MapPlace::is_direct() const {
  return std::all_of(segments.begin(), segments.end(),
                     [](const MapSegment& one) { return one.pool == MapPool::direct; });
}

std::vector<MapPlace> memory_map(const Report& report) {
  Places places;
  for (const DeviceReport& device : report.devices) add_segments(report, places, device.segments);
  add_segments(report, places, report.host.segments);
  add_segments(report, places, report.host.registrations);
  std::vector<MapPlace> found;
  for (auto& [key, place] : places) {
    std::sort(place.segments.begin(), place.segments.end(), comes_first);
    find_pinners(place);
    find_requests(report, place);
    found.push_back(std::move(place));
  }
  std::stable_sort(found.begin(), found.end(), [](const MapPlace& a, const MapPlace& b) {
    return std::make_tuple(!a.is_direct(), a.total_bytes) >
           std::make_tuple(!b.is_direct(), b.total_bytes);
  });
  return found;
}

std::uint64_t external_fragmentation(const MapPlace& place) {
  if (place.free_bytes == 0) return 0;
  const double outside = static_cast<double>(place.free_bytes - place.largest_free_bytes);
  return static_cast<std::uint64_t>(outside * 1000 / static_cast<double>(place.free_bytes) + 0.5);
}

}  // namespace vramscope
