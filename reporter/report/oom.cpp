// Examines a snapshot that was taken right after memory ran out.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/oom.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <span>
#include <utility>

#include "allocator/base/driver_pages.h"
#include "reporter/report/attribution.h"
#include "reporter/report/holes.h"
#include "reporter/report/parts.h"
#include "reporter/report/shared_pages.h"

namespace vramscope {
namespace {

constexpr std::size_t kMostListed = 10;

// Keeps the largest elements by `bytes`, in descending order.
template <class Element, class Bytes>
void keep_largest(std::vector<Element>& all, Bytes bytes) {
  std::stable_sort(all.begin(), all.end(),
                   [&](const Element& a, const Element& b) { return a.*bytes > b.*bytes; });
  if (all.size() > kMostListed) all.resize(kMostListed);
}

std::span<const BlockSnapshot> blocks_of(const Snapshot& memory, const SegmentSnapshot& segment) {
  return std::span(memory.blocks).subspan(segment.first_block, segment.block_count);
}

OomPin describe_pin(const Snapshot& memory, const SegmentSnapshot& segment) {
  const std::span<const BlockSnapshot> blocks = blocks_of(memory, segment);
  const Holes holes = holes_of(blocks);
  OomPin pin{.segments = 1,
             .total_size = segment.total_size,
             .free_bytes = holes.free_bytes,
             .largest_free_bytes = holes.largest_free_bytes,
             .live_bytes = holes.live_bytes,
             .live_count = holes.live_count};
  if (holes.largest_live != Holes::kNone) pin.tag = blocks[holes.largest_live].tag;
  return pin;
}

// Adds to the entry of its call site.
void add_pin(const Rows<TagFact>& tags, const OomPin& more, std::vector<OomPin>& pins) {
  const auto site_of = [&](Tag tag) { return tag < tags.size() ? tags[tag].site : kUnknownSite; };
  const auto same = std::find_if(pins.begin(), pins.end(), [&](const OomPin& pin) {
    return site_of(pin.tag) == site_of(more.tag);
  });
  if (same == pins.end()) return pins.push_back(more);
  same->segments += more.segments;
  same->total_size += more.total_size;
  same->free_bytes += more.free_bytes;
  same->largest_free_bytes = std::max(same->largest_free_bytes, more.largest_free_bytes);
  same->live_bytes += more.live_bytes;
  same->live_count += more.live_count;
}

bool is_routed(const SegmentSnapshot& segment, std::uint16_t device) {
  return segment.place.kind == Kind::device && segment.place.device == device && !segment.is_direct;
}

// Adds our segments on the device, and estimates what would be free without us.
void add_segments(const ReportParts& parts, OomEvent& event) {
  const Snapshot& memory = parts.memory;
  PageRounding alone;  // of blocks that would have pages of their own, or have none in our segments
  std::uint64_t alone_bytes = 0;
  SharedPages shared;
  for (const SegmentSnapshot& segment : memory.segments) {
    if (!is_routed(segment, event.device)) continue;
    event.reserved_bytes += segment.total_size;
    if (segment.active_size == 0) {
      event.idle_bytes += segment.total_size;
      continue;
    }
    event.allocated_bytes += segment.allocated_size;
    event.pending_bytes += segment.active_size - segment.allocated_size;
    for (const BlockSnapshot& block : blocks_of(memory, segment)) {
      if (block.state != BlockState::active_allocated) continue;
      event.requested_bytes += block.requested_size;
      ++event.allocation_count;
      const bool is_packed = pages_of(Kind::device, block.requested_size) == Pages::shared;
      if (is_packed && !segment.is_dedicated) {
        shared.add(block.address, block.size);
        continue;
      }
      alone.add(Kind::device, block.requested_size);
      alone_bytes += block.requested_size;
    }
    const OomPin pin = describe_pin(memory, segment);
    if (pin.free_bytes == 0) continue;
    event.split_free_bytes += pin.free_bytes;
    event.largest_free_bytes = std::max(event.largest_free_bytes, pin.largest_free_bytes);
    add_pin(parts.recorder.tags, pin, event.pins);
  }
  const std::uint64_t native = alone_bytes + alone.bytes() + shared.bytes();
  const std::uint64_t at_most = event.free_bytes + event.reserved_bytes;
  event.native_free_bytes = at_most - std::min(native, at_most);
}

void add_direct(const Snapshot& memory, OomEvent& event) {
  PageRounding rounding;  // of the device's memory, as it came from the driver
  for (const SegmentSnapshot& segment : memory.segments) {
    const bool is_there =
        takes_device_memory(segment.place.kind) && segment.place.device == event.device;
    if (!is_there) continue;
    rounding.add(segment.place.kind, segment.total_size);
    if (segment.is_direct) event.direct_bytes += segment.total_size;
  }
  event.rounding_bytes = rounding.bytes();
}

// Pages of managed memory lie on the device or on the host. What nothing else explains is taken to
// be on the device; a limit does not count it.
void leave_out_managed(const Snapshot& memory, OomEvent& event) {
  std::uint64_t managed = 0;
  for (const SegmentSnapshot& segment : memory.segments) {
    const bool is_there =
        segment.place.kind == Kind::managed && segment.place.device == event.device;
    if (is_there && segment.is_direct) managed += segment.total_size;
  }
  event.direct_bytes -= managed;
  if (event.by_limit) return;
  const std::uint64_t used = event.total_bytes - std::min(event.free_bytes, event.total_bytes);
  const std::uint64_t known =
      event.reserved_bytes + event.direct_bytes + event.rounding_bytes + event.outside_bytes;
  event.direct_bytes += std::min(managed, used - std::min(known, used));
}

// Returns whether the memory competes with the request: for a host request, memory in host pages;
// for a device request, memory that is on the device or can be moved there.
bool is_near(const OomEvent& event, Place place) {
  if (is_host(event.kind)) return is_host(place.kind);
  return holds_memory(place.kind) && !is_host(place.kind) && place.device == event.device;
}

void add_holders(const ReportParts& parts, OomEvent& event) {
  std::map<std::pair<std::uint32_t, Kind>, OomShare> sites;
  std::map<std::pair<std::uint32_t, Kind>, OomOwner> owners;
  const std::size_t tags = std::min(parts.memory.tags.size(), parts.recorder.tags.size());
  for (Tag tag = 1; tag < tags; ++tag) {
    const TagTotals totals = parts.memory.tags[tag];
    if (totals.live_count == 0) continue;
    const TagFact fact = parts.recorder.tags[tag];
    if (!is_near(event, fact.place)) continue;
    const Kind kind = fact.place.kind;
    OomShare& share = sites[{fact.site, kind}];
    share.tag = tag;
    share.kind = kind;
    share.live_bytes += totals.live_bytes;
    share.live_count += totals.live_count;
    const std::uint32_t value = fact.values[static_cast<std::size_t>(Axis::owner)];
    OomOwner& owner = owners[{value, kind}];
    if (owner.owner.empty()) owner.owner = value_text(parts, Axis::owner, value);
    owner.kind = kind;
    owner.live_bytes += totals.live_bytes;
  }
  for (const auto& [key, share] : sites) event.shares.push_back(share);
  for (const auto& [key, owner] : owners) event.owners.push_back(owner);
  keep_largest(event.shares, &OomShare::live_bytes);
  keep_largest(event.owners, &OomOwner::live_bytes);
}

void add_use_by_others(const ReportParts& parts, OomEvent& event) {
  for (const DeviceFacts& facts : parts.devices) {
    if (facts.index != event.device) continue;
    event.outside_bytes = facts.outside_bytes;
    event.context_bytes = facts.context_bytes;
    event.module_bytes = facts.module_bytes;
    event.pool_bytes = facts.pool_bytes;
    event.pool_pending_bytes = facts.pool_pending_bytes;
    event.before_bytes = facts.before_bytes;
  }
}

// What is free in pages shared by small allocations counts as in use, but not by others.
void take_gaps_from_others(const Snapshot& memory, OomEvent& event) {
  const std::uint64_t taken = std::min(gaps_on(memory, event.device), others_then(event));
  event.outside_bytes -= taken;
  event.rounding_bytes += taken;
}

}  // namespace

void add_served(const ReportParts& parts, const Event& served, OomEvent& event) {
  event.served_ns = static_cast<std::int64_t>(served.start_ns -
                                              std::min(served.start_ns, start_of(parts.memory)));
  event.served_tag = served.tag;
}

OomEvent describe_briefly(const ReportParts& parts, const Refusal& refusal) {
  const Event& asked = refusal.event;
  const std::uint64_t start_ns = start_of(parts.memory);
  OomEvent event{.number = refusal.number,
                 .time_ns = asked.start_ns - std::min(asked.start_ns, start_ns),
                 .kind = asked.place.kind,
                 .device = asked.place.device,
                 .bytes = asked.bytes,
                 .tag = asked.tag,
                 .by_limit = refusal.by_limit,
                 .counted_bytes = refusal.counted_bytes,
                 .total_bytes = refusal.total_bytes,
                 .free_bytes = refusal.free_bytes};
  if (asked.function < parts.function_names.size()) {
    event.function = parts.function_names[asked.function];
  }
  event.thread = value_of_tag(parts, Axis::thread, asked.tag);
  const std::string range = value_of_tag(parts, Axis::range, asked.tag);
  if (range != "none" && range != "unknown") event.range = range;
  return event;
}

OomEvent describe_refusal(const ReportParts& parts, const Refusal& refusal) {
  OomEvent event = describe_briefly(parts, refusal);
  event.has_details = true;
  add_holders(parts, event);
  if (is_host(event.kind)) return event;
  add_segments(parts, event);
  keep_largest(event.pins, &OomPin::free_bytes);
  add_direct(parts.memory, event);
  add_use_by_others(parts, event);
  leave_out_managed(parts.memory, event);
  if (!event.by_limit)
    take_gaps_from_others(parts.memory, event);  // a limit does not count these
                                                 // gaps
  return event;
}

void number_sites(OomReport& oom, const std::vector<std::int64_t>& site_of_tag) {
  const auto site_of = [&](Tag tag) {
    return tag < site_of_tag.size() ? site_of_tag[tag] : std::int64_t{-1};
  };
  for (OomEvent& event : oom.events) {
    event.site = site_of(event.tag);
    event.served_site = site_of(event.served_tag);
    for (OomShare& share : event.shares) share.site = site_of(share.tag);
    for (OomPin& pin : event.pins) pin.site = site_of(pin.tag);
  }
}

}  // namespace vramscope
