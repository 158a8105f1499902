// Follows segments through a trace.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/replay/trace_extents.h"
#include "reporter/view/analysis/segment_sizes.h"

#include <algorithm>
#include <tuple>

namespace vramscope {
namespace {

using trace::What;

// As the program's allocator had them: allocator/base/size_policy.h.
// The end of so many bytes, rounded up.
Address end_of(Address address, std::uint64_t bytes, std::uint64_t step) {
  const std::uint64_t rounded =
      bytes > UINT64_MAX - step ? bytes : (bytes + step - 1) / step * step;
  return address + std::min(rounded, UINT64_MAX - address);
}

// What ends has the number of the newest allocation before it, as a segment that changes has.
bool is_before(const SegmentChange& change, const TraceEvent& event) {
  if (event.what == What::live_before) return change.at_ns == 0;
  const bool comes = event.what == What::came || event.what == What::came_besides;
  return std::make_tuple(change.serial, true, change.at_ns) <
         std::make_tuple(event.event.serial, !comes, event.event.start_ns);
}

}  // namespace

TraceExtents::Map::iterator TraceExtents::at_or_before(const Key& key) {
  auto it = extents_.upper_bound(key);
  if (it == extents_.begin()) return extents_.end();
  --it;
  return it->first.first == key.first ? it : extents_.end();
}

void TraceExtents::advance_to(const TraceEvent& next) {
  if (next.what == What::call || next.what == What::thread) return;
  while (next_ < told_.size() && is_before(told_[next_], next)) apply(told_[next_++]);
  if (next.what != What::place_ended) return;
  std::erase_if(extents_, [&](const auto& one) { return one.second.place == next.event.place; });
}

void TraceExtents::advance_to(std::uint64_t ns) {
  for (; next_ < told_.size() && told_[next_].at_ns <= ns; ++next_) apply(told_[next_]);
}

void TraceExtents::apply(const SegmentChange& change) {
  using enum SegmentChange::What;
  const Key key{space_of(change.place.kind), change.address};
  const Address end = change.address + change.bytes;
  by_pytorch_ = cuts_large_ = change.by_pytorch;
  switch (change.what) {
    case came:
      cut(key, end);
      extents_[key] = {.end = end, .place = change.place};
      return;
    case went:
      extents_.erase(key);
      return;
    case pages_came:
      return add_pages(change);
    case pages_went:
      return cut(key, end);
  }
}

// Nothing is left from `begin` to `end`.
void TraceExtents::cut(const Key& begin, Address end) {
  auto it = at_or_before(begin);
  if (it == extents_.end()) it = extents_.lower_bound(begin);
  while (it != extents_.end() && it->first.first == begin.first && it->first.second < end) {
    const auto [key, whole] = *it;
    if (whole.end <= begin.second) {
      ++it;
      continue;
    }
    it = extents_.erase(it);
    if (key.second < begin.second) {
      extents_[key] = whole;
      extents_[key].end = begin.second;
    }
    if (whole.end > end) it = std::next(extents_.emplace(Key{key.first, end}, whole).first);
  }
}

// Pages of one reservation that follow each other are one segment.
void TraceExtents::add_pages(const SegmentChange& change) {
  const Key key{space_of(change.place.kind), change.address};
  TraceExtent added{.end = change.address + change.bytes,
                    .place = change.place,
                    .page_bytes = change.page_bytes,
                    .small = change.page_bytes <= kDriverStep,
                    .was_used = true};
  cut(key, added.end);
  const auto goes_on = [&](const TraceExtent& one) {
    return one.page_bytes == added.page_bytes && one.place == added.place;
  };
  if (const auto after = extents_.find({key.first, added.end});
      after != extents_.end() && goes_on(after->second)) {
    added.end = after->second.end;
    extents_.erase(after);
  }
  const auto before = at_or_before(key);
  if (before != extents_.end() && before->second.end == key.second && goes_on(before->second)) {
    before->second.end = added.end;
  } else {
    extents_[key] = added;
  }
}

void TraceExtents::came(const TraceBlock& block, const Event& event) {
  if (are_inferred()) {
    ++infer(block, event).live;
    return;
  }
  const auto it = at_or_before({space_of(block.place.kind), event.address});
  if (it != extents_.end() && event.address < it->second.end) use(it, block, event.address);
}

void TraceExtents::went(const Key& key) {
  if (!are_inferred()) return;
  const auto it = at_or_before(key);
  if (it != extents_.end() && it->second.live != 0) --it->second.live;
}

void TraceExtents::use(Map::iterator extent, const TraceBlock& block, Address address) {
  if (!extent->second.was_used) extent->second.small = block.bytes <= kSmallRequest;
  extent->second.was_used = true;
  const bool is_cut = block.place.kind == Kind::device && !extent->second.small &&
                      extent->second.page_bytes == 0 && address != extent->first.second;
  cuts_large_ = cuts_large_ || (are_inferred() && is_cut);
}

// A call of the driver brought a segment, or pages behind one in which blocks live.
TraceExtent& TraceExtents::infer(const TraceBlock& block, const Event& event) {
  const Key key{space_of(block.place.kind), event.address};
  const Address end = end_of(key.second, std::max<std::uint64_t>(block.bytes, 1),
                             is_host(block.place.kind) ? kHostStep : kBlockStep);
  const auto it = at_or_before(key);
  const bool is_inside = it != extents_.end() && key.second < it->second.end;
  const bool is_new = event.served == Served::driver && !(is_inside && it->second.live != 0);
  if (it == extents_.end() || is_new || !(it->second.place == block.place)) {
    return begin_inferred(key, end, block);
  }
  it->second.end = std::max(it->second.end, end);
  use(it, block, event.address);
  return it->second;
}

// What was there before and has no block any more went back to the driver.
TraceExtent& TraceExtents::begin_inferred(const Key& key, Address end, const TraceBlock& block) {
  const bool of_device = block.place.kind == Kind::device && !is_dedicated_;
  if (of_device) end = end_of(key.second, end - key.second, kDriverStep);
  if (const auto before = at_or_before(key);
      before != extents_.end() && before->second.live == 0 && before->second.end > key.second) {
    extents_.erase(before);
  }
  auto after = extents_.lower_bound(key);
  while (after != extents_.end() && after->first.first == key.first && after->first.second < end &&
         after->second.live == 0) {
    after = extents_.erase(after);
  }
  return extents_[key] = {.end = end,
                          .place = block.place,
                          .small = block.bytes <= kSmallRequest,
                          .was_used = true};
}

}  // namespace vramscope
