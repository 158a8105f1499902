// SPDX-License-Identifier: Apache-2.0
#include "allocator/ladder.h"

#include <algorithm>
#include <cassert>
#include <new>

#include "allocator/base/size_policy.h"
#include "allocator/idle.h"

namespace vramscope {

enum class CachingAllocator::Ladder::Step : std::uint8_t {
  oversize,    // release idle oversize segments, enough for this request
  quarantine,  // end the quarantine of freed blocks that graphs may name
  idle,        // release all idle segments of the device
  least,       // request the smallest segment that would do
};

// PyTorch requests pinned memory once. The steps after a refusal are ours and part of
// exact_fallback: rounding pinned memory to a power of two can double what the program asked for.
AnyBlock CachingAllocator::Ladder::obtain(State& state) {
  constexpr Step kSteps[] = {Step::oversize, Step::quarantine, Step::idle, Step::least};
  const bool is_pinned = need_.store == Store::pinned;
  if (!is_pinned && state.limits.collects_garbage()) {
    state.reclaim.collect_garbage(state, need_.where, out_);
  }
  if (!is_pinned && reject(state)) return {};
  out_.source = Source::new_segment;
  AnyBlock block = attempt(state);
  for (const Step step : kSteps) {
    if (!is_out_of_memory(out_) || (is_pinned && !state.limits.exact_fallback)) break;
    if (take(state, step) == Next::attempt) block = attempt(state);
  }
  if (is_out_of_memory(out_) && is_cut(state) && need_.ended_quarantine) {
    out_.status = {};  // blocks from the quarantine may be enough now
    const Request again{.where = need_.where, .bytes = out_.requested, .tag = out_.tag};
    is_pinned ? state.pinned.allocate(state, again, out_) : state.allocate(again, out_);
    return {};
  }
  if (is_out_of_memory(out_)) {
    if (!is_pinned) state.accounts.note(Accounts::Event::out_of_memory, need_.where.device);
    if (out_.by_limit) state.accounts.capacities().refuse(need_.where.device);
  }
  if (!block) out_.source = Source::none;
  return block;
}

bool CachingAllocator::Ladder::is_cut(const State& state) const {
  return need_.store == Store::pools || (need_.store == Store::pinned && state.pinned.is_cut());
}

CachingAllocator::Ladder::Next CachingAllocator::Ladder::take(State& state, Step step) {
  switch (step) {
    case Step::oversize:
      if (need_.store != Store::pools) return Next::other_step;
      if (!state.reclaim.oversize(state, need_.where, need_.block, out_)) return Next::other_step;
      break;
    case Step::quarantine:
      need_.ended_quarantine = end_quarantine(state);
      return Next::other_step;
    case Step::idle:
      if (!release_idle(state)) return Next::other_step;
      break;
    case Step::least:
      if (!state.limits.exact_fallback) return Next::other_step;
      if (need_.least >= need_.bytes && !expands(state)) return Next::other_step;
      need_.bytes = need_.least;
      need_.is_plain = true;
      return Next::attempt;
  }
  out_.source = Source::after_trim;
  return Next::attempt;
}

// Returns false if the quarantine held nothing that could serve.
bool CachingAllocator::Ladder::end_quarantine(State& state) const {
  if (!state.reuse.holds()) return false;
  const PendingFrees* pinned =
      need_.store == Store::pinned ? state.pending_of(Store::pinned, need_.where) : nullptr;
  bool held = pinned && pinned->has(need_.where);
  for (const auto& place : state.places) {
    const bool matters =
        need_.store != Store::pinned && place && place->place.device == need_.where.device;
    if (!matters) continue;
    held |= !place->pending.empty() || state.reuse.pending(Kind::device).has(place->place);
  }
  if (held) state.reuse.hold_up_to(0);
  return held;
}

bool CachingAllocator::Ladder::release_idle(State& state) {
  const bool is_hosts = state.accounts.capacities().use(need_.where.device).is_hosts;
  if (need_.store == Store::pinned) {
    if (!Reclaim::may_release(state, need_.where)) return false;
    if (state.pinned.is_cut()) {
      state.pinned.release_all_idle(state, out_);
    } else {
      state.reclaim.idle_dedicated(state, need_.where, out_);
    }
    if (is_hosts) static_cast<void>(make_room(state, need_.where.device));
    return true;
  }
  if (is_hosts && state.pinned.is_cut()) state.pinned.release_all_idle(state, out_);
  const bool may_release = state.reclaim.idle(state, need_.where.device, out_);
  if (!state.reclaim.await_pending_releases(state, need_.where.device) && !may_release)
    return false;
  state.accounts.note(Accounts::Event::retry, need_.where.device);
  return true;
}

bool CachingAllocator::Ladder::make_room(State& state, std::uint16_t device) {
  const std::uint64_t held = state.accounts.capacities().of(device).held;
  Outcome unused;
  static_cast<void>(Ladder({.where = {.device = device}}, unused).end_quarantine(state));
  static_cast<void>(state.reclaim.idle(state, device, unused));
  return state.reclaim.await_pending_releases(state, device) ||
         state.accounts.capacities().of(device).held < held;
}

// throw_on_cudamalloc_oom: refuses a request that would exceed the limit before any step. It is
// counted separately, because no memory ran out.
bool CachingAllocator::Ladder::reject(State& state) {
  if (!state.limits.throw_on_cudamalloc_oom) return false;
  const double fraction = state.limits.memory_fraction;
  const PlaceMemory* place = state.places.find(need_.where);
  if (!place || fits(state, *place, need_.bytes, fraction < 0 ? 1.0 : fraction)) return false;
  out_.status = {Result::out_of_memory, 0};
  out_.source = Source::none;
  state.accounts.note(Accounts::Event::rejection, need_.where.device);
  return true;
}

bool CachingAllocator::Ladder::fits(State& state, const PlaceMemory& place, std::uint64_t bytes,
                                    double fraction) {
  const CapacityUse& ours = state.accounts.capacities().use(place.place.device);
  return ours.reserved + ours.awaited + bytes <= Reclaim::part_of(place.total_bytes, fraction);
}

bool CachingAllocator::Ladder::expands(const State& state) const {
  return state.limits.expands() && need_.store == Store::pools && !need_.is_plain;
}

// Uses pages if the limits ask for them and the backend has them. As in PyTorch, the limit is still
// compared with a whole segment, except for growing segments.
AnyBlock CachingAllocator::Ladder::attempt(State& state) {
  if (need_.store == Store::pinned) return attempt_segment(state);
  if (exceeds_share(state)) return {};
  if (!expands(state)) return attempt_segment(state);
  const Status before = out_.status;
  const AnyBlock block = state.expansion.grow(state, need_.where, need_.block, out_);
  if (out_.status.result == Result::failed) {
    out_.status = before;
    return attempt_segment(state);
  }
  if (block && !state.accounts.tags().prepare(out_.tag)) out_.status = {Result::failed, 0};
  return out_.status.ok() ? block : AnyBlock{};
}

AnyBlock CachingAllocator::Ladder::attempt_segment(State& state) {
  const Address address = reserve(state);
  if (!out_.status.ok()) return {};
  const AnyBlock block =
      need_.store == Store::pools ? add_segment(state, address) : add_dedicated(state, address);
  if (!block || !state.accounts.tags().prepare(out_.tag)) out_.status = {Result::failed, 0};
  Idle::set_caps(state, need_.where.device);
  return out_.status.ok() ? block : AnyBlock{};
}

// If the backend refused before, its code stays the answer.
bool CachingAllocator::Ladder::exceeds_share(State& state) {
  const double fraction = state.limits.memory_fraction;
  const PlaceMemory* place = state.places.find(need_.where);
  const bool moves = state.limits.growing_segments && expands(state);
  const std::uint64_t bytes = moves ? need_.least : need_.bytes;
  if (!place || fraction < 0 || fits(state, *place, bytes, fraction)) return false;
  out_.status = {Result::out_of_memory, out_.status.code};
  return true;
}

// As above.
Address CachingAllocator::Ladder::reserve(State& state) {
  if (exceeds_limit(state.accounts, need_.where, need_.bytes, out_)) {
    out_.status = {Result::out_of_memory, out_.status.code};
    return 0;
  }
  state.accounts.capacities().ask(need_.where, need_.bytes);
  const Address address = ask_backend(state);
  state.accounts.capacities().end_asking(need_.where, need_.bytes);
  if (need_.store == Store::pinned) return address;
  if (out_.has_sample) Idle::note_unrecorded(state, need_.where.device, out_.unrecorded_bytes);
  return address;
}

Address CachingAllocator::Ladder::ask_backend(State& state) {
  state.unlock();
  const Grant grant = state.backend.reserve(need_.where, need_.bytes);
  state.lock();
  note_grant(state.accounts, need_.where, grant, out_);
  return grant.address;
}

// Enters a segment, with records prepared for a cut. Returns none if the segment went back, or
// stays unused because giving it back could free memory that is in use.
AnyBlock CachingAllocator::Ladder::add_segment(State& state, Address address) {
  const std::uint64_t bytes = need_.bytes;
  const bool fresh = state.is_fresh(Kind::device, address, bytes);
  const bool usable = fresh && address % kUnit == 0 && bytes <= kMaxBlockBytes &&
                      address <= FreeBlocks::kMaxAddress - bytes;
  assert((usable || bytes > kMaxBlockBytes) &&
         "the backend granted an address that is misaligned, too high or in use");
  try {
    PlaceMemory* place = usable ? state.open_place(need_.where) : nullptr;
    if (place && state.prepare_blocks() && state.listed.prepare()) {
      const PoolClass pool = pool_class(need_.block);
      Segment& segment = state.segments[address];
      const BlockIndex first = place->pools.add_segment(pool, state.blocks, address,
                                                        to_units(bytes), place->waits.settled());
      segment = {bytes, first, place->slot, pool};
      state.accounts.segment_came(need_.where, pool, bytes);
      segment.listed =
          state.listed.add(ListedSegment::Sort::pool, need_.where, address, bytes, pool, first);
      state.ranges.device.widen(address, bytes);
      return {state.blocks, first};
    }
  } catch (const std::bad_alloc&) {  // the map's; nothing else was changed
  }
  if (fresh) give_up(state, need_.where, address);
  return {};
}

AnyBlock CachingAllocator::Ladder::add_dedicated(State& state, Address address) {
  const Kind kind = need_.where.kind;
  const bool fresh = state.is_fresh(kind, address, need_.bytes);
  assert(fresh && "the backend granted an address that is in use");
  if (need_.store == Store::pinned && state.pinned.is_cut()) {
    const AnyBlock made =
        fresh ? state.pinned.add_segment(state, need_.where, need_.block, address, need_.bytes)
              : AnyBlock{};
    if (fresh && !made) give_up(state, need_.where, address);
    return made;
  }
  DedicatedBlock* block = nullptr;
  if (fresh && (kind == Kind::pinned || state.open_place(need_.where)) &&
      state.accounts.tags().prepare(out_.tag) && state.listed.prepare()) {
    block = state.dedicated.of(kind).add(need_.where, address, need_.bytes);
  }
  if (block) {
    block->pool = pool_class(need_.bytes);
    state.accounts.segment_came(need_.where, block->pool, need_.bytes);
    block->listed = state.listed.add(*block);
    (kind == Kind::pinned ? state.ranges.pinned : state.ranges.dedicated)
        .widen(address, need_.bytes);
    return AnyBlock(block);
  }
  if (fresh) give_up(state, need_.where, address);
  return {};
}

// Gives up a segment for which there is no record.
void CachingAllocator::Ladder::give_up(State& state, Place where, Address address) {
  state.unlock();
  static_cast<void>(state.backend.release(where, address));
  state.lock();
}

}  // namespace vramscope
