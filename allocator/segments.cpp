// Segments from the backend and back: the out-of-memory ladder.
// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cassert>
#include <iterator>
#include <new>

#include "allocator/size_policy.h"
#include "allocator/state.h"

namespace vramscope {
namespace {

// As PyTorch computes it: the limit truncates, and 1.0 is a limit like any other.
std::uint64_t limit_bytes(double fraction, std::uint64_t total) {
  return static_cast<std::uint64_t>(fraction * static_cast<double>(total));
}

bool is_out_of_memory(const Outcome& out) { return out.status.result == Result::out_of_memory; }

}  // namespace

// The ladder. A free block for `rounded` bytes, or kNoBlock and the last refusal in `out`. After
// the release the free blocks are not searched again: what came back is in no free list.
BlockIndex CachingAllocator::State::obtain(Place where, std::uint64_t rounded, Outcome& out) {
  const PoolClass pool = pool_class(rounded);
  const std::uint64_t bytes = segment_bytes(rounded);
  out.source = Source::new_segment;
  BlockIndex block = attempt(where, pool, bytes, out);
  if (is_out_of_memory(out) && release_idle(where.device, out)) {
    out.source = Source::after_trim;
    ++device_of(where).counters.rare().num_alloc_retries;
    block = attempt(where, pool, bytes, out);
  }
  const std::uint64_t least = least_segment_bytes(rounded);
  if (is_out_of_memory(out) && limits.exact_fallback && least < bytes) {
    block = attempt(where, pool, least, out);
  }
  if (is_out_of_memory(out)) ++device_of(where).counters.rare().num_ooms;
  if (block == kNoBlock) out.source = Source::none;
  return block;
}

BlockIndex CachingAllocator::State::attempt(Place where, PoolClass pool, std::uint64_t bytes,
                                            Outcome& out) {
  const PlaceMemory* place = find_place(where);
  if (place && !within_limit(*place, bytes)) {
    out.status = {Result::out_of_memory, out.status.code};  // the backend's refusal, if any, stays
    return kNoBlock;
  }
  DeviceMemory& device = device_of(where);  // devices stay while their places come and go
  device.promised += bytes;
  mutex.unlock();
  const Grant grant = backend.reserve(where, bytes);
  mutex.lock();
  device.promised -= bytes;
  out.backend_ns += grant.ns;
  out.status = grant.status;
  if (!grant.status.ok()) return kNoBlock;
  const BlockIndex block = add_segment(where, pool, grant.address, bytes);
  if (block == kNoBlock || !ledger.prepare(out.tag)) out.status = {Result::failed, 0};
  return out.status.ok() ? block : kNoBlock;
}

bool CachingAllocator::State::within_limit(const PlaceMemory& place, std::uint64_t bytes) const {
  if (limits.memory_fraction < 0) return true;
  const DeviceMemory& device = *devices[place.place.device];
  const std::uint64_t limit = limit_bytes(limits.memory_fraction, place.total_bytes);
  return device.reserved + device.promised + bytes <= limit;
}

// Enters a segment, with records prepared for a cut as well. kNoBlock: it went back, or stays
// unused where giving it back could free memory that is in use.
BlockIndex CachingAllocator::State::add_segment(Place where, PoolClass pool, Address address,
                                                std::uint64_t bytes) {
  const bool fresh = is_fresh(address, bytes);
  const bool usable = fresh && address % kUnit == 0 && bytes <= kMaxBlockBytes &&
                      address <= FreeBlocks::kMaxAddress - bytes;
  assert(usable && "the backend granted an address that is misaligned, too high or in use");
  try {
    PlaceMemory* place = usable ? open_place(where) : nullptr;
    if (place && blocks.prepare()) {
      Segment& segment = segments[address];
      segment = {bytes, place->pool(pool).add_segment(address, to_units(bytes)), place->slot, pool};
      DeviceMemory& device = device_of(where);
      device.reserved += bytes;
      device.counters.count_segment(pool, bytes);
      widen_range(address, bytes);
      return segment.first;
    }
  } catch (const std::bad_alloc&) {  // the map's; nothing else was changed
  }
  if (!fresh) return kNoBlock;
  mutex.unlock();
  static_cast<void>(backend.release(where, address));
  mutex.lock();
  return kNoBlock;
}

// Not null and clear of every segment that we have.
bool CachingAllocator::State::is_fresh(Address address, std::uint64_t bytes) const {
  if (address == 0 || address > ~Address{0} - bytes) return false;
  const auto above = segments.lower_bound(address);
  if (above != segments.end() && above->first < address + bytes) return false;
  if (above == segments.begin()) return true;
  const auto below = std::prev(above);
  return below->first + below->second.bytes <= address;
}

void CachingAllocator::State::widen_range(Address address, std::uint64_t bytes) {
  if (address < lowest.load(std::memory_order_relaxed)) {
    lowest.store(address, std::memory_order_release);
  }
  if (address + bytes > end.load(std::memory_order_relaxed)) {
    end.store(address + bytes, std::memory_order_release);
  }
}

bool CachingAllocator::State::is_idle(const Segment& segment) const {
  const Block& first = blocks[segment.first];
  return first.is_free() && !first.is_part();
}

// All places of a device give back what no live block needs. Counted once for the device, and only
// when some place may be touched now.
bool CachingAllocator::State::release_idle(std::uint16_t device, Outcome& out) {
  bool counted = false;
  for (std::size_t slot = 0; slot < places.size(); ++slot) {
    if (!places[slot] || places[slot]->place.device != device) continue;
    const Place where = places[slot]->place;
    mutex.unlock();
    const bool may_release = backend.may_wait(where);
    mutex.lock();
    if (!may_release) continue;
    if (!counted) ++devices[device]->counters.rare().num_sync_all_streams;
    counted = true;
    release_idle(where, out);
  }
  return counted;
}

// In batches: the list lives on the stack, because this runs when memory is short. A segment leaves
// our books before it goes back, so that the backend may grant its address again at once.
void CachingAllocator::State::release_idle(Place where, Outcome& out) {
  drain_pending(where, out);
  std::array<Address, 64> batch;
  Address from = 0;
  for (;;) {
    const PlaceMemory* place = find_place(where);
    std::size_t count = 0;
    auto it = segments.lower_bound(from);
    while (place && it != segments.end() && count < batch.size()) {
      const auto next = std::next(it);
      if (it->second.slot == place->slot && is_idle(it->second)) {
        batch[count++] = it->first;
        remove_segment(it);
      }
      it = next;
    }
    if (count == 0) return;
    from = batch[count - 1];
    mutex.unlock();
    for (std::size_t i = 0; i < count; ++i) out.backend_ns += backend.release(where, batch[i]).ns;
    mutex.lock();
  }
}

void CachingAllocator::State::remove_segment(std::map<Address, Segment>::iterator it) {
  const Segment& segment = it->second;
  PlaceMemory& place = *places[segment.slot];
  DeviceMemory& device = device_of(place.place);
  place.pool(segment.pool).remove_segment(segment.first);
  device.reserved -= segment.bytes;
  device.counters.count_segment_release(segment.pool, segment.bytes);
  segments.erase(it);
}

}  // namespace vramscope
