// Segments from the backend: the out-of-memory ladder, and what a segment counts as.
// SPDX-License-Identifier: Apache-2.0
#include <cassert>
#include <iterator>
#include <new>

#include "allocator/size_policy.h"
#include "allocator/state.h"

namespace vramscope {

// The ladder. A free block for `rounded` bytes, or kNoBlock and the last refusal in `out`. The free
// blocks are not searched again on any step: what goes back is in no free list. Only after a
// quarantine ended everything is tried once more: then kNoBlock and what came of it in `out`.
BlockIndex CachingAllocator::State::obtain(Place where, std::uint64_t rounded, Outcome& out) {
  const PoolClass pool = pool_class(rounded);
  const std::uint64_t bytes = segment_bytes(rounded, limits);
  if (limits.collects_garbage()) collect_garbage(where, out);
  if (reject(where, bytes, out)) return kNoBlock;
  out.source = Source::new_segment;
  BlockIndex block = attempt(where, pool, bytes, out);
  if (is_out_of_memory(out) && release_oversize(where, pool, rounded, out)) {
    out.source = Source::after_trim;
    block = attempt(where, pool, bytes, out);
  }
  const bool gave_up = is_out_of_memory(out) && end_quarantine(where.device);
  if (is_out_of_memory(out) && release_idle(where.device, out)) {
    out.source = Source::after_trim;
    accounts.count(where.device, &DeviceStatistics::num_alloc_retries);
    block = attempt(where, pool, bytes, out);
  }
  const std::uint64_t least = least_segment_bytes(rounded);
  if (is_out_of_memory(out) && limits.exact_fallback && least < bytes) {
    block = attempt(where, pool, least, out);
  }
  if (is_out_of_memory(out) && gave_up) {  // what was in quarantine may be enough now
    out.status = {};
    allocate({where, out.requested, out.tag}, out);
    return kNoBlock;
  }
  if (is_out_of_memory(out)) count_out_of_memory(where, out);
  if (block == kNoBlock) out.source = Source::none;
  return block;
}

void CachingAllocator::State::count_out_of_memory(Place where, const Outcome& out) {
  accounts.count(where.device, &DeviceStatistics::num_ooms);
  if (out.by_limit) accounts.count_refusal(where.device);
}

// throw_on_cudamalloc_oom: what would pass the limit is refused before anything is tried. Counted
// apart, because nothing ran out.
bool CachingAllocator::State::reject(Place where, std::uint64_t bytes, Outcome& out) {
  if (!limits.throw_on_cudamalloc_oom) return false;
  const PlaceMemory* place = find_place(where);
  if (!place || fits(*place, bytes, limits.memory_fraction < 0 ? 1.0 : limits.memory_fraction)) {
    return false;
  }
  out.status = {Result::out_of_memory, 0};
  out.source = Source::none;
  accounts.count(where.device, &DeviceStatistics::num_oom_rejections);
  return true;
}

BlockIndex CachingAllocator::State::attempt(Place where, PoolClass pool, std::uint64_t bytes,
                                            Outcome& out) {
  const Address address = reserve(where, bytes, out);
  if (!out.status.ok()) return kNoBlock;
  const BlockIndex block = add_segment(where, pool, address, bytes);
  if (block == kNoBlock || !accounts.prepare(out.tag)) out.status = {Result::failed, 0};
  return out.status.ok() ? block : kNoBlock;
}

// One segment from the backend, if the limits let it ask; out.status tells.
Address CachingAllocator::State::reserve(Place where, std::uint64_t bytes, Outcome& out) {
  const PlaceMemory* place = find_place(where);
  if (place && !within_limit(*place, bytes)) {
    out.status = {Result::out_of_memory, out.status.code};  // the backend's refusal, if any, stays
    return 0;
  }
  out.by_limit = !accounts.has_capacity(where.device, bytes);
  if (out.by_limit) {
    out.status = {Result::out_of_memory, out.status.code};
    return 0;
  }
  accounts.begin_request(where.device, bytes);
  const Address address = ask_backend(where, bytes, out);
  accounts.end_request(where.device, bytes);
  return address;
}

Address CachingAllocator::State::ask_backend(Place where, std::uint64_t bytes, Outcome& out) {
  mutex.unlock();
  const Grant grant = backend.reserve(where, bytes);
  mutex.lock();
  out.backend_ns += grant.ns;
  out.status = grant.status;
  return grant.address;
}

bool CachingAllocator::State::within_limit(const PlaceMemory& place, std::uint64_t bytes) const {
  return limits.memory_fraction < 0 || fits(place, bytes, limits.memory_fraction);
}

bool CachingAllocator::State::fits(const PlaceMemory& place, std::uint64_t bytes,
                                   double fraction) const {
  const std::uint64_t ours = accounts.owned_bytes(place.place.device);
  return ours + bytes <= part_of(place.total_bytes, fraction);
}

// Enters a segment, with records prepared for a cut as well. kNoBlock: it went back, or stays
// unused where giving it back could free memory that is in use.
BlockIndex CachingAllocator::State::add_segment(Place where, PoolClass pool, Address address,
                                                std::uint64_t bytes) {
  const bool fresh = is_fresh(Kind::device, address, bytes);
  const bool usable = fresh && address % kUnit == 0 && bytes <= kMaxBlockBytes &&
                      address <= FreeBlocks::kMaxAddress - bytes;
  assert(usable && "the backend granted an address that is misaligned, too high or in use");
  try {
    PlaceMemory* place = usable ? open_place(where) : nullptr;
    if (place && prepare_blocks()) {
      Segment& segment = segments[address];
      segment = {
          bytes,
          place->pools.add_segment(pool, blocks, address, to_units(bytes), place->waits.settled()),
          place->slot, pool};
      accounts.segment_came(where, pool, bytes);
      device_range.widen(address, bytes);
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
bool CachingAllocator::State::is_fresh(Kind kind, Address address, std::uint64_t bytes) const {
  if (address == 0 || address > ~Address{0} - bytes) return false;
  if (kind == Kind::pinned) return !pinned.overlaps(address, bytes);
  if (dedicated.overlaps(address, bytes)) return false;
  const auto above = segments.lower_bound(address);
  if (above != segments.end() && above->first < address + bytes) return false;
  if (above == segments.begin()) return true;
  const auto below = std::prev(above);
  return below->first + below->second.bytes <= address;
}

void AddressRange::widen(Address address, std::uint64_t bytes) noexcept {
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

// An idle segment leaves our books. The record of its block stays, until it comes back or is
// destroyed.
Segments::node_type CachingAllocator::State::set_aside(Segments::iterator it) {
  const Segment& segment = it->second;
  PlaceMemory& place = *places[segment.slot];
  place.pools.set_aside(blocks, segment.first);
  accounts.segment_went(place.place, segment.pool, segment.bytes);
  return segments.extract(it);
}

}  // namespace vramscope
