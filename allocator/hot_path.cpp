// The usual allocation and the usual free: one critical section, no step that unlocks.
// SPDX-License-Identifier: Apache-2.0
#include <sched.h>

#include "allocator/fault.h"
#include "allocator/size_policy.h"
#include "allocator/state.h"

namespace vramscope {

[[gnu::flatten]] Outcome CachingAllocator::allocate(const Request& request) noexcept {
  Outcome out{.status = {}, .requested = request.bytes, .tag = request.tag, .where = request.where};
  if (!state_->allocate_hit(request, out)) [[unlikely]]
    state_->allocate_otherwise(request, out);
  return out;
}

[[gnu::flatten]] Outcome CachingAllocator::free(Address address, Wait when, Only only) noexcept {
  Outcome out{.status = {Result::invalid, 0}, .address = address};
  const bool is_usual = when == Wait::now && only != Only::pinned;
  if (!is_usual || !state_->free_hit(address, out)) [[unlikely]]
    state_->free_otherwise(address, when, only, out);
  return out;
}

// A free block serves the request, and no option and no pending free has a say in it. False: not
// decided here, and nothing has changed.
inline bool CachingAllocator::State::allocate_hit(const Request& request, Outcome& out) {
  MutexLock lock(mutex);
  PlaceMemory* const place = usual_place;
  if (!place || place->place != request.where || request.whole ||
      request.bytes - 1 >= kMaxBlockBytes || !blocks.is_prepared() ||
      !ledger.is_prepared(request.tag)) [[unlikely]] {
    return false;
  }
  const std::uint64_t rounded = round_request(request.bytes);
  return pool_class(rounded) == PoolClass::small
             ? serve_hit(*place, PoolClass::small, rounded, out)
             : serve_hit(*place, PoolClass::large, rounded, out);
}

inline bool CachingAllocator::State::serve_hit(PlaceMemory& place, PoolClass pool,
                                               std::uint64_t rounded, Outcome& out) {
  const Pools::Found found = place.pools.find(pool, to_units(rounded));
  if (found.block == kNoBlock) [[unlikely]]
    return false;
  const Units size = to_units(rounded);
  const bool cut = worth_splitting(pool, to_bytes(found.size - size));
  hand_out(place, pool, found, cut ? size : found.size, out);
  out.source = Source::hit;
  if (!is_block_proved(place.waits, found.block)) [[unlikely]]
    settle(found.block, rounded, out);
  return true;
}

// The place is known before the block is, so one critical section is enough. A block that began its
// life after the wait did is not the one that the program meant. False: not decided here.
inline bool CachingAllocator::State::free_hit(Address address, Outcome& out) noexcept {
  const std::uint64_t packed = sole_place.load(std::memory_order_acquire);
  if (packed == kSeveralPlaces || !device_range.contains(address)) return false;
  if (whole_range.contains(address) || pinned_range.contains(address)) [[unlikely]]
    return false;
  const std::uint64_t newest = last_serial.load(std::memory_order_relaxed);
  const Reply waited = wait_at_free(Place::unpack(packed));
  if (waited.status.result == Result::forbidden) [[unlikely]]
    return false;
  out.wait_ns = waited.ns;
  MutexLock lock(mutex);
  if (sole_place.load(std::memory_order_relaxed) != packed) [[unlikely]]
    return false;
  PlaceMemory& place = *sole_memory;
  const BlockTable::Entry entry = blocks.find_entry(address);
  const BlockIndex block = entry.block;
  if (fault(Fault::double_free) && block == kNoBlock) out.status = {};
  if (block == kNoBlock || !blocks[block].is_live()) [[unlikely]]
    return !whole_range.contains(address);  // it may have been set apart since (note_export)
  if (!waited.status.ok()) [[unlikely]] {
    out.status = waited.status;
    return true;
  }
  const std::uint64_t serial = blocks.life(block).serial();
  if (serial > newest) [[unlikely]]
    return true;
  describe_free(place, block, out);
  if (fault(Fault::lost_free)) return true;
  if (is_held(serial)) [[unlikely]] {
    add_pending(place, block);
    if (ledger.keeps_details()) detail_free(place, serial, End::pending, out);
    return true;
  }
  release(place, entry, number_of_free(place.waits));
  if (ledger.keeps_details()) [[unlikely]]
    detail_free(place, serial, End::complete, out);
  return true;
}

// `size` units of `found`; one record, one address and the tag's total are prepared.
void CachingAllocator::State::hand_out(PlaceMemory& place, PoolClass pool,
                                       const Pools::Found& found, Units size, Outcome& out) {
  const SplitChange split = place.pools.take(pool, blocks, found, size);
  Block& b = blocks[found.block];
  if (!fault(Fault::tag_of_previous_owner)) b.tag = out.tag;
  b.requested = out.requested;
  out.serial = next_serial();
  blocks.life(found.block).set_serial(out.serial);
  out.address = b.address();
  out.rounded = to_bytes(size);
  if (fault(Fault::counter_outside_lock)) {
    mutex.unlock();
    sched_yield();
    mutex.lock();
  }
  place.device.counters.count_allocation(pool, out.rounded, out.requested, split);
  ledger.count_allocation(place.account, out.tag, out.requested);
  if (fault(Fault::double_count)) ledger.count_allocation(place.account, out.tag, out.requested);
  if (ledger.keeps_details()) [[unlikely]]
    detail_hand_out(place, out);
}

void CachingAllocator::State::detail_hand_out(PlaceMemory& place, const Outcome& out) {
  births.note(out.serial, call_time_ns);
  ledger.detail_allocation(place.account, out.tag, out.requested);
}

void CachingAllocator::State::detail_free(PlaceMemory& place, std::uint64_t serial, End end,
                                          const Outcome& out) {
  ledger.count_lifetime(out.tag, born_ns(serial));
  if (end == End::complete) ledger.detail_completion(place.account, out.tag, out.requested);
}

// What the outcome of a free that succeeds tells about its block.
void CachingAllocator::State::describe_free(const PlaceMemory& place, BlockIndex block,
                                            Outcome& out) {
  const Block& b = blocks[block];
  out.status = {};
  out.rounded = to_bytes(b.size);
  out.requested = b.requested;
  out.tag = b.tag;
  out.where = place.place;
  out.serial = last_serial.load(std::memory_order_relaxed);
}

void CachingAllocator::State::take_away(PlaceMemory& place, BlockTable::Entry entry,
                                        Waits::Number freed) {
  const Tag tag = blocks[entry.block].tag;
  const std::uint64_t requested = blocks[entry.block].requested;
  release(place, entry, freed);
  if (ledger.keeps_details()) ledger.detail_completion(place.account, tag, requested);
}

void CachingAllocator::State::release(PlaceMemory& place, BlockTable::Entry entry,
                                      Waits::Number freed) {
  if (blocks[entry.block].pool() == PoolClass::small) {
    release(place, PoolClass::small, entry, freed);
  } else {
    release(place, PoolClass::large, entry, freed);
  }
}

inline void CachingAllocator::State::release(PlaceMemory& place, PoolClass pool,
                                             BlockTable::Entry entry, Waits::Number freed) {
  const Block& b = blocks[entry.block];
  const std::uint64_t bytes = to_bytes(b.size);
  const std::uint64_t requested = b.requested;
  const Tag tag = b.tag;
  DeviceCounters& counters = place.device.counters;
  counters.count_free(pool, bytes, requested);
  if (is_oversize(bytes, limits)) [[unlikely]]
    counters.rare().oversize_allocations.decrease(1);
  ledger.count_free(place.account, tag, requested);
  counters.count_splits(pool, place.pools.give_back(pool, blocks, entry, freed));
}

}  // namespace vramscope
