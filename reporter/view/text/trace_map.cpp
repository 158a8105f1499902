// Follows the blocks of a trace up to an instant and puts them into segments.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/trace_map.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "reporter/report/traces/trace_memory.h"
#include "reporter/view/text/digest.h"
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

TracePlace place_of(Place place) {
  return {place.kind, has_device(place.kind) ? place.device : std::uint16_t{0}};
}

// The number of events up to and with the instant.
struct Found {
  std::uint64_t events = 0;  // 0: there is no such instant
  std::string text;
};

// Looks for the instants that cannot be told while a trace is being read for the first time.
class Finder {
 public:
  explicit Finder(const TraceFilter& filter) : totals(filter) {}

  void add(const TraceEvent& one) {
    totals.add(one);
    ++events_;
    const Event& event = one.event;
    if (event.failed && is_allocating(event.effect)) {
      failed_ = events_;
      ++failures_;
      asked_ = event.bytes;
      return;
    }
    if (one.what != trace::What::came && one.what != trace::What::came_besides) return;
    const TracePlace where = place_of(event.place);
    const auto kind = totals.kinds.find(where);
    if (kind == totals.kinds.end()) return;
    auto& [number, events] = peaks_[where];
    if (number == kind->second.peak_number) return;
    number = kind->second.peak_number;
    events = events_;
  }

  [[nodiscard]] Found find(const TraceInstant& instant) const {
    if (instant.what == TraceInstant::What::oom) return {failed_, failure_text()};
    if (instant.what != TraceInstant::What::peak) return {events_, "at the end"};
    Found found;
    std::uint64_t highest = 0;
    for (const auto& [where, peak] : peaks_) {
      const std::uint64_t bytes = totals.kinds.at(where).held.peak_bytes;
      if (!holds_memory(where.first) || bytes <= highest) continue;
      highest = bytes;
      found = {peak.second, "at the peak of " + memory_text(where.first, where.second)};
    }
    return found;
  }

  TraceTotals totals;

 private:
  [[nodiscard]] std::string failure_text() const {
    std::string text =
        failures_ == 1 ? "when an allocation failed"
                       : "when the last of " + std::to_string(failures_) + " allocations failed";
    if (asked_ != 0) text += " (" + bytes_text(static_cast<std::int64_t>(asked_)) + ")";
    return text;
  }

  std::map<TracePlace, std::pair<std::uint64_t, std::uint64_t>> peaks_;  // number, events
  std::uint64_t events_ = 0;
  std::uint64_t failed_ = 0;
  std::uint64_t failures_ = 0;
  std::uint64_t asked_ = 0;  // by that one; 0: not known
};

struct LiveBlock {
  Place place;
  Address address = 0;
  std::uint64_t bytes = 0;  // requested; of a slot that nobody has: 0, and not live
  std::uint64_t born_ns = 0;
  Tag tag = 0;
  bool direct = false;
  bool live = false;
};

// A segment of ours as far as it is known.
struct Extent {
  Address end = 0;
  Place place;
  std::uint64_t live = 0;  // blocks
  bool small = false;
};

// Every segment and block that lives, event by event.
class Segments : private TraceMemory::Changes {
  using Key = std::pair<Space, Address>;

 public:
  Segments(bool is_dedicated, const TraceFilter& filter, std::uint64_t first_ns)
      : is_dedicated_(is_dedicated), filter_(filter), first_ns_(first_ns) {}

  void add(const TraceEvent& event) { memory_.add(event, *this); }

  void put_into(Report& report, const TraceNames& names) const {
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

 private:
  [[nodiscard]] bool passes(const LiveBlock& block) const {
    const std::uint64_t born_ns = after(first_ns_, block.born_ns);
    return filter_.passes(block.tag, block.place, block.bytes) && born_ns >= filter_.from_ns &&
           born_ns <= filter_.to_ns;
  }

  void came(const TraceBlock& block, const Event& event) override {
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

  void went(const TraceBlock& block, TraceMemory::End) override {
    LiveBlock& gone = blocks_[block.slot];
    gone.live = false;
    if (gone.direct) return;
    const auto it = extent_at({space_of(gone.place.kind), gone.address});
    if (it != extents_.end() && it->second.live != 0) --it->second.live;
  }

  // The last one that begins at the key or before it, in its space.
  std::map<Key, Extent>::iterator extent_at(const Key& key) {
    auto it = extents_.upper_bound(key);
    if (it == extents_.begin()) return extents_.end();
    --it;
    return it->first.first == key.first ? it : extents_.end();
  }

  static std::uint64_t size_of(const TraceBlock& block) {
    return rounded(std::max<std::uint64_t>(block.bytes, 1),
                   is_host(block.place.kind) ? kHostStep : kBlockStep);
  }

  // A call of the driver brought a segment, or pages behind one in which blocks live.
  Extent& extent_for(const TraceBlock& block, const Event& event) {
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

  // What was there before and has no block any more went back to the driver.
  Extent& begin_extent(const Key& key, Address end, const TraceBlock& block) {
    const bool of_device = block.place.kind == Kind::device && !is_dedicated_;
    if (of_device)
      end = key.second + std::min(rounded(end - key.second, kDriverStep), UINT64_MAX - key.second);
    if (const auto before = extent_at(key);
        before != extents_.end() && before->second.live == 0 && before->second.end > key.second) {
      extents_.erase(before);
    }
    auto after = extents_.lower_bound(key);
    while (after != extents_.end() && after->first.first == key.first &&
           after->first.second < end && after->second.live == 0) {
      after = extents_.erase(after);
    }
    Extent& extent = extents_[key];
    extent = {.end = end, .place = block.place, .small = block.bytes <= kSmallRequest};
    return extent;
  }

  [[nodiscard]] std::vector<const LiveBlock*> in_order() const {
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

  static SegmentFacts& segment_of(std::map<Key, SegmentFacts>& segments, const LiveBlock& block) {
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

  static Address end_of(const SegmentFacts& segment) {
    return segment.blocks.empty() ? segment.address
                                  : segment.blocks.back().address + segment.blocks.back().size;
  }

  // Where large segments are cut, a rest of 1 MiB at most stays with the block before it; where
  // they are not, a block has its segment, which is less than 2 MiB larger than the request.
  void add_hole(SegmentFacts& segment, Address end) const {
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

  // In a damaged trace blocks may overlap; what comes second is left out then.
  void add_block(SegmentFacts& segment, const LiveBlock& block, const TraceNames& names) const {
    const Address segment_end = segment.address + segment.total_size;
    if (block.address < end_of(segment) || block.address >= segment_end) return;
    add_hole(segment, block.address);
    const std::uint64_t step = is_host(block.place.kind) ? kHostStep : kBlockStep;
    const std::uint64_t size = block.direct ? block.bytes : rounded(block.bytes, step);
    const std::uint64_t fits = std::min(size, segment_end - block.address);
    const std::size_t site = site_of_tag(names, block.tag);
    segment.blocks.push_back(
        {.address = block.address,
         .size = fits,
         .requested_size = block.bytes,
         .state = BlockState::active_allocated,
         .site = site == 0 ? -1 : static_cast<std::int64_t>(site),
         .born_ns = static_cast<std::int64_t>(after(first_ns_, block.born_ns))});
    segment.allocated_size += fits;
    segment.active_size += fits;
    segment.requested_size += block.bytes;
  }

  const bool is_dedicated_;
  const TraceFilter& filter_;
  const std::uint64_t first_ns_;
  bool cuts_large_ = false;  // a block was seen in a large segment, not at its beginning
  TraceMemory memory_;
  std::vector<LiveBlock> blocks_;  // by slot
  std::map<Key, Extent> extents_;
};

// The instants that a map is of do not follow from when its blocks were allocated.
TraceFilter without_times(TraceFilter filter) {
  filter.from_ns = 0;
  filter.to_ns = UINT64_MAX;
  return filter;
}

}  // namespace

TraceMap trace_map(TraceReader& reader, const TraceInstant& instant, const Filter& filter,
                   const NameFrame& name) {
  TraceMap map;
  map.missing = missing_from(reader.names(), filter);
  if (!map.missing.empty()) return map;
  const TraceFilter those = trace_filter(reader.names(), filter, name);
  Finder finder(without_times(those));
  const auto order = TraceReader::Order::by_change;
  if (!reader.read(order, [&](const TraceEvent& event) { finder.add(event); })) {
    map.problem = reader.problem();
    return map;
  }
  finder.totals.finish();
  map.missing = missing_from(finder.totals);
  if (!map.missing.empty()) return map;
  const Found found = finder.find(instant);
  if (found.events == 0) {
    map.problem = instant.what == TraceInstant::What::oom ? "no allocation failed in it"
                  : those.is_empty                        ? "nothing was allocated in it"
                                   : "nothing that passes was allocated in it";
    return map;
  }
  const std::uint64_t first_ns = finder.totals.begin_ns;
  const bool is_time = instant.what == TraceInstant::What::time;
  Segments segments(reader.names().process.mode == "dedicated", those, first_ns);
  std::uint64_t events = 0, now = 0;
  bool is_over = false;
  if (!reader.read(order, [&](const TraceEvent& event) {
        const std::uint64_t at = after(first_ns, event.event.start_ns);
        is_over = is_over || events == found.events || (is_time && at > instant.at_ns);
        if (is_over) return;
        ++events;
        now = std::max(now, at);
        segments.add(event);
      })) {
    map.problem = reader.problem();
    return map;
  }
  map.report = report_of_trace(reader.names(), finder.totals);
  segments.put_into(map.report, reader.names());
  map.moment = {.text = is_time ? "then" : found.text,
                .at_ns = is_time ? instant.at_ns : now,
                .is_of_trace = true};
  if (instant.what == TraceInstant::What::end) {
    map.moment.at_ns = finder.totals.end_ns - finder.totals.begin_ns;
  }
  return map;
}

}  // namespace vramscope
