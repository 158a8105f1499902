// Adds events up, as the allocator and the recorder count while the program runs.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/trace_totals.h"

#include <algorithm>

namespace vramscope {

namespace {

using trace::What;

TracePlace place_of(Place place) {
  return {place.kind, has_device(place.kind) ? place.device : std::uint16_t{0}};
}

bool is_allocating(const Event& event) {
  return event.effect == Effect::allocate || event.effect == Effect::pin;
}

void gain(TraceHolding& held, std::uint64_t bytes) {
  ++held.allocations;
  ++held.live_count;
  held.bytes += bytes;
  held.live_bytes += bytes;
}
void lose(TraceHolding& held, std::uint64_t bytes) {
  ++held.frees;
  --held.live_count;
  held.live_bytes -= bytes;
}

}  // namespace

// What it held at the present peak of its kind is put aside before its first change after that.
TraceTag& TraceTotals::touch(Tag tag, TracePlace where, const TraceKind& kind) {
  TraceTag& found = tags[{tag, where}];
  if (found.peak_number != kind.peak_number) {
    found.peak_number = kind.peak_number;
    found.held.peak_bytes = found.held.live_bytes;
  }
  return found;
}

void TraceTotals::count_end(const Live& live) {
  const TracePlace where = place_of(live.place);
  TraceKind& kind = kinds[where];
  lose(touch(live.tag, where, kind).held, live.bytes);
  lose(kind.held, live.bytes);
}

// The driver hands out no address twice: what was there the program has freed, on a thread that has
// not come to say so, or behind our back. The allocator counts in the same way.
void TraceTotals::end_overlapping(Space space, Address address, std::uint64_t bytes) {
  auto it = direct_.lower_bound({space, address});
  if (has_ranges(space) && it != direct_.begin()) {
    const auto below = std::prev(it);
    if (below->first.first == space && below->first.second + below->second.bytes > address) {
      it = below;
    }
  }
  const Key end{space, address + (has_ranges(space) ? std::max<std::uint64_t>(bytes, 1) : 1)};
  while (it != direct_.end() && it->first < end) {
    count_end(it->second);
    it = direct_.erase(it);
  }
}

void TraceTotals::come(const Event& event, bool direct) {
  const Key key{space_of(event.place.kind), event.address};
  if (direct) end_overlapping(key.first, key.second, event.bytes);
  const TracePlace where = place_of(event.place);
  TraceKind& kind = kinds[where];
  gain(touch(event.tag, where, kind).held, event.bytes);
  gain(kind.held, event.bytes);
  const Live live{event.bytes, event.tag, event.place};
  if (direct) {
    direct_[key] = live;
  } else {
    served_[key] = live;
  }
  if (kind.held.live_bytes <= kind.held.peak_bytes) return;
  kind.held.peak_bytes = kind.held.live_bytes;
  kind.peak_ns = event.start_ns;
  kind.peak_tag = event.tag;
  ++kind.peak_number;
}

// In a trace with damage its beginning may be missing.
void TraceTotals::go(const Event& event, bool direct) {
  const Key key{space_of(event.place.kind), event.address};
  if (direct) {
    if (const auto it = direct_.find(key); it != direct_.end()) {
      count_end(it->second);
      direct_.erase(it);
    }
  } else if (const auto it = served_.find(key); it != served_.end()) {
    count_end(it->second);
    served_.erase(it);
  }
}

template <class Lives>
void TraceTotals::end_place(Lives& lives, Place place) {
  std::erase_if(lives, [&](const auto& entry) {
    if (!(entry.second.place == place)) return false;
    count_end(entry.second);
    return true;
  });
}

void TraceTotals::add(const TraceEvent& one) {
  const Event& event = one.event;
  ++events;
  ++threads[one.thread];
  if (events == 1) first_ns = event.start_ns;
  first_ns = std::min(first_ns, event.start_ns);
  last_ns = std::max(last_ns, event.start_ns + event.total_ns);
  if (one.what <= What::went) {
    TraceFunction& function = functions[event.function];
    ++calls;
    ++function.calls;
    function.total_ns += event.total_ns;
    failures += event.failed ? 1 : 0;
    function.failures += event.failed ? 1 : 0;
  }
  const bool direct = one.what > What::went || event.served == Served::direct;
  switch (one.what) {
    case What::came:
    case What::came_besides:
      come(event, direct);
      break;
    case What::went:
    case What::went_besides:
      go(event, direct);
      break;
    case What::place_ended:
      end_place(served_, event.place);
      end_place(direct_, event.place);
      break;
    case What::call:
    case What::thread:
      break;
  }
  if (one.what <= What::went && event.tag != 0 && is_allocating(event)) {
    const TracePlace where = place_of(event.place);
    touch(event.tag, where, kinds[where]).total_ns += event.total_ns;
  }
}

void TraceTotals::finish() {
  for (auto& [key, tag] : tags) static_cast<void>(touch(key.first, key.second, kinds[key.second]));
}

}  // namespace vramscope
