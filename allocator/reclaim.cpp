// Idle segments go back to the backend: all, the oversize ones, or the old ones.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "allocator/size_policy.h"
#include "allocator/state.h"

namespace vramscope {

// As PyTorch computes limits and thresholds: truncated.
std::uint64_t part_of(std::uint64_t bytes, double share) {
  return static_cast<std::uint64_t>(share * static_cast<double>(bytes));
}

bool CachingAllocator::State::may_release(Place where) {
  mutex.unlock();
  const bool may = backend.may_wait(where);
  mutex.lock();
  return may;
}

// All places of a device give back what no live block needs. Counted once for the device, and only
// when some place may be touched now.
bool CachingAllocator::State::release_idle(std::uint16_t device, Outcome& out) {
  bool counted = false;
  for (std::size_t slot = 0; slot < places.size(); ++slot) {
    if (!places[slot] || places[slot]->place.device != device) continue;
    const Place where = places[slot]->place;
    if (!may_release(where)) continue;
    if (!counted) accounts.count(device, &DeviceStatistics::num_sync_all_streams);
    counted = true;
    drain(Store::pools, where, out);
    release_where(
        where, [](const Segment&, std::uint32_t) { return true; }, out);
    release_idle_dedicated(where, out);
  }
  return counted;
}

// One call of the backend for a segment that is in nobody's reach: not in our books, so that the
// backend may grant its address again at once. A capture may have begun since the caller asked.
CachingAllocator::State::Returned CachingAllocator::State::give_back(Place where, Address address,
                                                                     Outcome& out) {
  Departure departure{.where = where, .next = departures};
  departures = &departure;
  mutex.unlock();
  const bool may = backend.may_wait(where);
  Reply reply;
  if (may) reply = backend.release(where, address);
  const bool refused = may && !reply.status.ok() && backend.may_wait(where);
  mutex.lock();
  Departure** link = &departures;
  while (*link != &departure) link = &(*link)->next;
  *link = departure.next;
  out.backend_ns += reply.ns;
  if (may && reply.status.ok()) return {Fate::taken, {}};
  const bool is_gone = departure.lost || reply.status.result == Result::invalid;
  // While a capture lasts a free succeeds and is completed later.
  const Status answer = refused ? Status{Result::failed, reply.status.code} : Status{};
  return {is_gone ? Fate::gone : Fate::kept, answer};
}

// An idle segment goes back, and stays what it was if the backend refuses.
CachingAllocator::State::Fate CachingAllocator::State::release_segment(Segments::iterator it,
                                                                       Outcome& out) {
  Segments::node_type node = set_aside(it);
  const Address address = node.key();
  const Segment segment = node.mapped();
  const Place where = places[segment.slot]->place;
  ++records_aside;
  const Fate fate = give_back(where, address, out).fate;
  --records_aside;
  if (fate == Fate::kept && is_fresh(Kind::device, address, segment.bytes)) {
    segments.insert(std::move(node));
    places[segment.slot]->pools.restore(blocks, segment.first);
    accounts.segment_kept(where, segment.pool, segment.bytes);
    return fate;
  }
  blocks.destroy(segment.first);
  if (fate == Fate::taken) accounts.segment_given_back(where);
  return fate;
}

// Idle segments of a place that `wanted` picks; tells the bytes of those that are there no longer.
// What refuses one, a capture or a sticky error, refuses all: it ends with the first refusal.
template <class Wanted>
std::uint64_t CachingAllocator::State::release_where(Place where, Wanted wanted, Outcome& out) {
  std::uint64_t bytes = 0;
  for (auto it = segments.begin(); it != segments.end();) {
    const PlaceMemory* place = find_place(where);  // it may have ended while the lock was free
    if (!place) break;
    const auto [address, segment] = *it;
    if (segment.slot != place->slot || !is_idle(segment) || !wanted(segment, age(segment))) {
      ++it;
      continue;
    }
    if (release_segment(it, out) == Fate::kept) break;
    bytes += segment.bytes;
    it = segments.upper_bound(address);
  }
  return bytes;
}

// What the idle segments of the large pool of a place are, seen together.
template <class Look>
void CachingAllocator::State::each_idle_large(Place where, Look look) {
  const PlaceMemory* place = find_place(where);
  for (auto it = segments.begin(); place && it != segments.end(); ++it) {
    const Segment& segment = it->second;
    if (segment.slot == place->slot && segment.pool == PoolClass::large && is_idle(segment)) {
      look(it->first, segment, age(segment));
    }
  }
}

// Oversize blocks serve nobody but oversize requests, so they go first: the smallest that makes
// room alone, else the largest until the sum does. Only if it does is another attempt worth it;
// what went back stays back.
bool CachingAllocator::State::release_oversize(Place where, PoolClass pool, std::uint64_t rounded,
                                               Outcome& out) {
  if (limits.max_split_size == Limits::kUnlimited || pool == PoolClass::small) return false;
  const std::uint64_t oversize = limits.max_split_size;
  const std::uint64_t target = std::max(rounded, oversize);
  for (std::uint64_t released = 0; released < target;) {
    if (!may_release(where)) return false;
    Address smallest = 0, largest = 0;
    std::uint64_t smallest_bytes = Limits::kUnlimited, largest_bytes = 0;
    each_idle_large(where, [&](Address address, const Segment& segment, std::uint32_t) {
      if (segment.bytes < oversize) return;
      if (segment.bytes >= largest_bytes) largest = address, largest_bytes = segment.bytes;
      if (segment.bytes < target || segment.bytes >= smallest_bytes) return;
      smallest = address, smallest_bytes = segment.bytes;
    });
    const Address chosen = released == 0 && smallest != 0 ? smallest : largest;
    if (chosen == 0) return false;
    const auto it = segments.find(chosen);
    const std::uint64_t bytes = it->second.bytes;
    if (release_segment(it, out) == Fate::kept) return false;
    released += bytes;
  }
  return true;
}

// Above the threshold, large segments that were idle for at least the mean number of searches go
// back, all of a round at once, so that this does not happen at every request. No wait: the
// backend's own release waits.
void CachingAllocator::State::collect_garbage(Place where, Outcome& out) {
  const PlaceMemory* place = find_place(where);
  if (!place) return;
  const std::uint64_t limit = part_of(place->total_bytes, limits.memory_fraction);
  const std::uint64_t threshold = part_of(limit, limits.garbage_collection_threshold);
  const std::uint64_t reserved = accounts.reserved_bytes(where.device);
  if (reserved <= threshold || !may_release(where)) return;
  for (std::uint64_t left = reserved - threshold; left > 0;) {
    std::uint64_t count = 0, sum = 0;
    each_idle_large(where, [&](Address, const Segment&, std::uint32_t age) {
      ++count;
      sum += age;
    });
    if (count == 0) return;
    const double mean = static_cast<double>(sum) / static_cast<double>(count);
    const auto is_old = [&](const Segment& segment, std::uint32_t age) {
      return segment.pool == PoolClass::large && static_cast<double>(age) >= mean;
    };
    const std::uint64_t released = release_where(where, is_old, out);
    if (released == 0) return;
    left -= std::min(left, released);
  }
}

std::uint32_t CachingAllocator::State::age(const Segment& segment) const {
  return places[segment.slot]->pools.age(blocks[segment.first]);
}

}  // namespace vramscope
