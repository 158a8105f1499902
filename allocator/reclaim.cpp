// Idle segments go back to the backend: all, the oversize ones, or the old ones.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <iterator>

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
    if (!counted) ++devices[device]->counters.rare().num_sync_all_streams;
    counted = true;
    drain_pending(where, out);
    release_where(
        where, [](const Segment&, std::uint32_t) { return true; }, out);
    release_idle_whole(where, out);
  }
  return counted;
}

// Idle segments of a place that `wanted` picks; tells their bytes. In batches: the list lives on
// the stack, because this runs when memory is short. A segment leaves our books before it goes
// back, so that the backend may grant its address again at once.
template <class Wanted>
std::uint64_t CachingAllocator::State::release_where(Place where, Wanted wanted, Outcome& out) {
  std::array<Address, 64> batch;
  std::uint64_t bytes = 0;
  Address from = 0;
  for (;;) {
    const PlaceMemory* place = find_place(where);
    std::size_t count = 0;
    auto it = segments.lower_bound(from);
    while (place && it != segments.end() && count < batch.size()) {
      const auto next = std::next(it);
      if (it->second.slot == place->slot && is_idle(it->second) &&
          wanted(it->second, age(it->second))) {
        bytes += it->second.bytes;
        batch[count++] = it->first;
        remove_segment(it);
      }
      it = next;
    }
    if (count == 0) return bytes;
    device_of(where).counters.rare().num_device_free += static_cast<std::int64_t>(count);
    from = batch[count - 1];
    mutex.unlock();
    for (std::size_t i = 0; i < count; ++i) out.backend_ns += backend.release(where, batch[i]).ns;
    mutex.lock();
  }
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
  if (!may_release(where)) return false;
  const std::uint64_t oversize = limits.max_split_size;
  const std::uint64_t target = std::max(rounded, oversize);
  for (std::uint64_t released = 0; released < target;) {
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
    released += release_one(where, chosen, out);
  }
  return true;
}

std::uint64_t CachingAllocator::State::release_one(Place where, Address address, Outcome& out) {
  const auto it = segments.find(address);
  const std::uint64_t bytes = it->second.bytes;
  remove_segment(it);
  ++device_of(where).counters.rare().num_device_free;
  mutex.unlock();
  out.backend_ns += backend.release(where, address).ns;
  mutex.lock();
  return bytes;
}

// Above the threshold, large segments that were idle for at least the mean number of searches go
// back, all of a round at once, so that this does not happen at every request. No wait: the
// backend's own release waits.
void CachingAllocator::State::collect_garbage(Place where, Outcome& out) {
  const PlaceMemory* place = find_place(where);
  if (!place) return;
  const std::uint64_t limit = part_of(place->total_bytes, limits.memory_fraction);
  const std::uint64_t threshold = part_of(limit, limits.garbage_collection_threshold);
  const std::uint64_t reserved = device_of(where).reserved;
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
  return places[segment.slot]->pools.age(segment.first);
}

}  // namespace vramscope
