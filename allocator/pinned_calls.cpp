// Allocates and frees pinned memory that is cut into blocks.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "allocator/base/fault.h"
#include "allocator/base/size_policy.h"
#include "allocator/ladder.h"
#include "allocator/state.h"

namespace vramscope {

Outcome CachingAllocator::Pinned::allocate_fast(State& state, const Request& request) noexcept {
  {
    const State::QuietLock section(state);
    Pinned& own = state.pinned;
    PinnedPlace* const place = own.places_.find(request.where);
    if (place && place->pending.empty() && state.reuse_time == ReuseTime::at_free &&
        request.bytes - 1 < kMaxBlockBytes && own.blocks_.is_prepared() &&
        state.accounts.tags().are_prepared(request.tag)) [[likely]] {
      const std::uint64_t rounded = whole_pages(request.bytes);
      const Pools::Found found = own.find(*place, rounded);
      if (found.block != kNoBlock) [[likely]] {
        Outcome out{.status = {},
                    .requested = request.bytes,
                    .where = request.where,
                    .tag = request.tag,
                    .source = Source::hit};
        own.hand_out(state, *place, found, rounded, out);
        return out;
      }
    }
  }
  return state.allocate_otherwise(request);
}

// As in State::free_fast(), the place is known before the block.
Outcome CachingAllocator::Pinned::free_fast(State& state, Address address) noexcept {
  const std::uint64_t packed = state.unguarded_reuse().sole_pinned_place();
  if (packed != kSeveralPlaces && state.ranges.pinned.contains(address)) [[likely]] {
    const std::uint64_t newest = state.last_serial.load(std::memory_order_relaxed);
    const Place where = Place::unpack(packed);
    Reply waited;
    if (!fault(Fault::pinned_reuse_without_waiting)) waited = state.backend.wait(where);
    if (waited.status.ok()) [[likely]] {
      const State::QuietLock section(state);
      const BlockIndex block =
          state.reuse.sole_pinned_place() == packed ? state.pinned.blocks_.find(address) : kNoBlock;
      if (block != kNoBlock && state.pinned.blocks_[block].is_live()) [[likely]] {
        if (state.pinned.blocks_.life(block).serial() > newest) [[unlikely]]
          return {.status = {Result::invalid, 0}, .address = address};
        return state.pinned.hand_back(state, block, waited.ns);
      }
    }
  }
  return state.free_otherwise(address, Wait::now, Only::pinned);
}

Outcome CachingAllocator::Pinned::hand_back(State& state, BlockIndex block, std::uint64_t wait_ns) {
  const CountedBlock counted = blocks_[block].counted();
  Outcome out{.status = {},
              .address = blocks_[block].address(),
              .rounded = counted.bytes,
              .requested = counted.requested,
              .where = state.reuse.fast_path().pinned_frees->place,
              .tag = counted.tag,
              .wait_ns = wait_ns,
              .serial = state.last_serial.load(std::memory_order_relaxed)};
  if (fault(Fault::lost_free)) return out;
  const std::uint64_t life = blocks_.life(block).serial();
  state.accounts.freed(out.where, counted, life);
  merge({blocks_, block});
  return out;
}

// Pinned memory has neither a memory limit nor garbage collection.
void CachingAllocator::Pinned::allocate(State& state, const Request& request, Outcome& out) {
  state.accounts.note_host_use();
  PinnedPlace* place = open(state, request.where);
  if (place && !place->pending.empty()) {
    state.drain(Store::pinned, request.where, out);
    place = open(state, request.where);
  }
  if (!place || !prepare() || !state.accounts.tags().prepare(request.tag)) {
    out.status = {Result::failed, 0};
    return;
  }
  const std::uint64_t rounded = whole_pages(request.bytes);
  const Pools::Found found = find(*place, rounded);
  out.source = Source::hit;
  if (found.block != kNoBlock) {
    hand_out(state, *place, found, rounded, out);
    const Waits::Number freed = blocks_.life(found.block).freed;
    if (state.reuse.is_proved(state.waits_of(request.where), freed) ||
        state.prove(Store::pinned, {blocks_, found.block}, out)) {
      return;
    }
  }
  serve_new(state, rounded, out);
}

void CachingAllocator::Pinned::serve_new(State& state, std::uint64_t rounded, Outcome& out) {
  for (const auto& place : places_) {
    if (!place) continue;
    place->pools.count_search(PoolClass::small);
    place->pools.count_search(PoolClass::large);
  }
  const PinnedPlace* asking = places_.find(out.where);
  const std::uint64_t bytes = pinned_segment_bytes(rounded, asking ? asking->small_bytes : 0);
  make_room(state, rounded, bytes, out);
  const Ladder::Need need{.store = Store::pinned,
                          .where = out.where,
                          .block = rounded,
                          .bytes = bytes,
                          .least = rounded};
  const AnyBlock made = Ladder(need, out).obtain(state);
  if (!made) return;
  PinnedPlace& place = *places_[blocks_.life(made.index()).place];
  const Pools::Found found = Pools::found(pool_class(rounded), blocks_, made.index());
  hand_out(state, place, found, rounded, out);
}

// Keeps pinned memory within a little more than the program's peak, as long as idle segments can go
// back for that.
void CachingAllocator::Pinned::make_room(State& state, std::uint64_t rounded, std::uint64_t bytes,
                                         Outcome& out) {
  const std::uint64_t most = std::max(most_held_, held_ + rounded);
  const std::uint64_t spare = std::max(most / kPinnedSpareParts, kSmallSegment);
  while (reserved_ + bytes > most + spare) {
    const auto oldest = oldest_idle();
    if (oldest == segments_.end() || !give_back(state, oldest, out)) return;
  }
}

}  // namespace vramscope
