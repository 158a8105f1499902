// The usual allocation and the usual free: one critical section, no step that unlocks.
// SPDX-License-Identifier: Apache-2.0
#include <sched.h>

#include "allocator/expansion.h"
#include "allocator/ground/fault.h"
#include "allocator/idle.h"
#include "allocator/pinned.h"
#include "allocator/size_policy.h"
#include "allocator/state.h"

namespace vramscope {

[[gnu::flatten]] Outcome CachingAllocator::allocate(const Request& request) noexcept {
  if (request.where.kind == Kind::pinned) return Pinned::allocate_usually(*state_, request);
  return state_->allocate_usually(request);
}

[[gnu::flatten]] Outcome CachingAllocator::free(Address address, Wait when, Only only) noexcept {
  if (when == Wait::now && only != Only::pinned) [[likely]]
    return state_->free_usually(address, only);
  if (when == Wait::now) return Pinned::free_usually(*state_, address);
  return state_->free_otherwise(address, when, only);
}

// A free block serves the request, and no option and no pending free has a say in it.
inline Outcome CachingAllocator::State::allocate_usually(const Request& request) noexcept {
  {
    MutexLock lock(mutex);
    PlaceMemory* const place = usual_place;
    if (place && place->place == request.where && !request.dedicated &&
        request.bytes - 1 < kMaxBlockBytes && blocks.is_prepared() &&
        accounts.ledger().is_prepared(request.tag)) [[likely]] {
      const std::uint64_t rounded = round_request(request.bytes);
      const Units size = to_units(rounded);
      if (pool_class(rounded) == PoolClass::small) {
        const Pools::Found found = place->pools.find(PoolClass::small, size);
        if (found.block != kNoBlock) [[likely]]
          return hit(*place, PoolClass::small, found, size, request);
      } else {
        const bool by_class = policy == Policy::native_safe;
        const Units wanted = by_class ? to_units(class_bytes(rounded)) : size;
        const Pools::Found found = place->pools.find(PoolClass::large, wanted);
        if (found.block != kNoBlock &&
            (!by_class || found.size == wanted || fault(Fault::larger_block_serves))) [[likely]]
          return hit(*place, PoolClass::large, found, wanted, request);
      }
    }
  }
  return allocate_otherwise(request);
}

inline Outcome CachingAllocator::State::hit(PlaceMemory& place, PoolClass pool,
                                            const Pools::Found& found, Units size,
                                            const Request& request) {
  if (!worth_splitting(pool, to_bytes(found.size - size))) size = found.size;
  Outcome out{.status = {},
              .address = blocks[found.block].address(),
              .rounded = to_bytes(size),
              .requested = request.bytes,
              .where = request.where,
              .tag = request.tag,
              .source = Source::hit};
  hand_out(place, pool, found, size, out);
  return out;
}

// The place is known before the block is, so one critical section is enough. A block that began its
// life after the wait did is not the one that the program meant.
inline Outcome CachingAllocator::State::free_usually(Address address, Only only) noexcept {
  const std::uint64_t packed = sole_place.load(std::memory_order_acquire);
  if (packed == kSeveralPlaces || !device_range.contains(address) ||
      dedicated_range.contains(address)) [[unlikely]]
    return free_otherwise(address, Wait::now, only);
  const std::uint64_t newest = last_serial.load(std::memory_order_relaxed);
  const Reply waited = backend.wait_first(Place::unpack(packed));
  if (!waited.status.ok()) [[unlikely]]
    return free_otherwise(address, Wait::now, only);
  {
    MutexLock lock(mutex);
    const bool is_sole = sole_place.load(std::memory_order_relaxed) == packed;
    if (is_sole || fault(Fault::place_unchecked)) [[likely]] {
      const BlockTable::Entry entry = blocks.find_entry(address);
      if (entry.block != kNoBlock && blocks[entry.block].is_live()) [[likely]] {
        if (blocks.life(entry.block).serial() > newest) [[unlikely]]
          return {.status = {Result::invalid, 0}, .address = address};
        return hand_back(*sole_memory, entry, waited.ns);
      }
    }
  }
  return free_otherwise(address, Wait::now, only);
}

inline Outcome CachingAllocator::State::hand_back(PlaceMemory& place, BlockTable::Entry entry,
                                                  std::uint64_t wait_ns) {
  const Block& block = blocks[entry.block];
  blocks.expect(block.prev);
  blocks.expect(block.next);
  const Tag tag = block.tag;
  const std::uint64_t requested = block.requested;
  Outcome out{.status = {},
              .address = block.address(),
              .rounded = to_bytes(block.size),
              .requested = requested,
              .where = place.place,
              .tag = tag,
              .wait_ns = wait_ns,
              .serial = last_serial.load(std::memory_order_relaxed)};
  if (fault(Fault::lost_free)) return out;
  const std::uint64_t serial = blocks.life(entry.block).serial();
  release(place, entry);
  accounts.ended(place.accounts, tag, requested, serial);
  if (place.pools.is_over_cap()) [[unlikely]]
    Idle::shed(*this, out.where, out);
  return out;
}

// `size` units of `found` become a live block with the tag and the bytes of the outcome, which gets
// its number; one record, one address and the tag's total are prepared.
void CachingAllocator::State::hand_out(PlaceMemory& place, PoolClass pool,
                                       const Pools::Found& found, Units size, Outcome& out) {
  const Tag tag = out.tag;  // not read again from where it was just written
  const std::uint64_t requested = out.requested;
  const SplitChange split = place.pools.take(pool, blocks, found, size);
  Block& b = blocks[found.block];
  b.belong_to(fault(Fault::tag_of_previous_owner) ? b.tag : tag, requested);
  const std::uint64_t serial = next_serial();
  out.serial = serial;
  blocks.life(found.block).set_serial(serial);
  const bool is_outside = fault(Fault::counter_outside_lock);
  if (is_outside) b.set_state(BlockState::active_allocated), mutex.unlock(), sched_yield();
  accounts.came(place.accounts, {tag, pool, to_bytes(size), requested}, split, serial);
  if (is_outside) mutex.lock();
  if (!is_outside) b.set_state(BlockState::active_allocated);
}

// A block that may be in use until its number is covered.
void CachingAllocator::State::release(PlaceMemory& place, BlockTable::Entry entry,
                                      std::uint64_t serial, Waits::Number freed) {
  const CountedBlock block = blocks[entry.block].counted();
  blocks.keep_around(entry.block);
  accounts.ledger().keep(block.tag);
  if (blocks[entry.block].is_expandable()) {
    blocks.life(entry.block).freed = freed;
    accounts.freed(place.accounts, block);
    accounts.merged(place.accounts, block.pool, {});
    static_cast<void>(Expansion::put_free(*this, place, entry.block));
    return accounts.ended(place.accounts, block.tag, block.requested, serial);
  }
  if (reuse_time == ReuseTime::at_reuse) Pools::number(blocks, entry.block, freed);
  release(place, entry);
  accounts.ended(place.accounts, block.tag, block.requested, serial);
}

void CachingAllocator::State::release(PlaceMemory& place, BlockTable::Entry entry) {
  if (blocks[entry.block].pool() == PoolClass::small) {
    release(place, PoolClass::small, entry);
  } else {
    release(place, PoolClass::large, entry);
  }
}

inline void CachingAllocator::State::release(PlaceMemory& place, PoolClass pool,
                                             BlockTable::Entry entry) {
  const Block& b = blocks[entry.block];
  accounts.freed(place.accounts, {b.tag, pool, to_bytes(b.size), b.requested});
  accounts.merged(place.accounts, pool, place.pools.give_back(pool, blocks, entry));
}

}  // namespace vramscope
