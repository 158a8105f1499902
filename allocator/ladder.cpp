// SPDX-License-Identifier: Apache-2.0
#include "allocator/ladder.h"

#include <algorithm>
#include <cassert>
#include <new>

#include "allocator/expansion.h"
#include "allocator/idle.h"
#include "allocator/pinned.h"
#include "allocator/reclaim.h"
#include "allocator/size_policy.h"

namespace vramscope {

enum class CachingAllocator::Ladder::Step : std::uint8_t {
  oversize,    // idle oversize segments go back, enough for this request
  quarantine,  // what graphs hold back is free, as its free did without us
  idle,        // all idle segments of the device go back
  least,       // the smallest segment that would do
};

// PyTorch asks for pinned memory once. What follows a refusal is ours, and part of exact_fallback:
// pinning is where rounding to a power of two can cost as much again as the program asked for.
AnyBlock CachingAllocator::Ladder::obtain(State& state, Need need, Outcome& out) {
  constexpr Step kSteps[] = {Step::oversize, Step::quarantine, Step::idle, Step::least};
  const bool is_pinned = need.store == Store::pinned;
  if (!is_pinned && state.limits.collects_garbage()) {
    Reclaim::collect_garbage(state, need.where, out);
  }
  if (!is_pinned && reject(state, need, out)) return {};
  out.source = Source::new_segment;
  AnyBlock block = attempt(state, need, out);
  for (const Step step : kSteps) {
    if (!is_out_of_memory(out) || (is_pinned && !state.limits.exact_fallback)) break;
    if (take(state, step, need, out) == Next::attempt) block = attempt(state, need, out);
  }
  if (is_out_of_memory(out) && is_cut(state, need) && need.ended_quarantine) {
    out.status = {};  // what was in quarantine may be enough now
    const Request again{.where = need.where, .bytes = out.requested, .tag = out.tag};
    is_pinned ? Pinned::allocate(state, again, out) : state.allocate(again, out);
    return {};
  }
  if (is_out_of_memory(out) && !is_pinned) {
    state.accounts.note(Accounts::Event::out_of_memory, need.where.device);
    if (out.by_limit) state.accounts.capacities().refuse(need.where.device);
  }
  if (!block) out.source = Source::none;
  return block;
}

bool CachingAllocator::Ladder::is_cut(const State& state, const Need& need) {
  return need.store == Store::pools || (need.store == Store::pinned && Pinned::is_cut(state));
}

CachingAllocator::Ladder::Next CachingAllocator::Ladder::take(State& state, Step step, Need& need,
                                                              Outcome& out) {
  switch (step) {
    case Step::oversize:
      if (need.store != Store::pools) return Next::other_step;
      if (!Reclaim::oversize(state, need.where, need.block, out)) return Next::other_step;
      break;
    case Step::quarantine:
      need.ended_quarantine = end_quarantine(state, need);
      return Next::other_step;
    case Step::idle:
      if (!release_idle(state, need, out)) return Next::other_step;
      break;
    case Step::least:
      if (!state.limits.exact_fallback) return Next::other_step;
      if (need.least >= need.bytes && !expands(state, need)) return Next::other_step;
      need.bytes = need.least;
      need.is_plain = true;
      return Next::attempt;
  }
  out.source = Source::after_trim;
  return Next::attempt;
}

// False: it kept nothing that could serve.
bool CachingAllocator::Ladder::end_quarantine(State& state, const Need& need) {
  if (!state.reuse.holds()) return false;
  const PendingFrees* pinned =
      need.store == Store::pinned ? state.pending_of(Store::pinned, need.where) : nullptr;
  bool held = pinned && pinned->has(need.where);
  for (const auto& place : state.places) {
    const bool matters =
        need.store != Store::pinned && place && place->place.device == need.where.device;
    if (!matters) continue;
    held |= !place->pending.empty() || state.reuse.pending(Kind::device).has(place->place);
  }
  if (held) state.reuse.hold_up_to(0);
  return held;
}

bool CachingAllocator::Ladder::release_idle(State& state, const Need& need, Outcome& out) {
  if (need.store == Store::pinned) {
    if (!Reclaim::may_release(state, need.where)) return false;
    if (Pinned::is_cut(state)) {
      Pinned::release_all_idle(state, out);
    } else {
      Reclaim::idle_dedicated(state, need.where, out);
    }
    return true;
  }
  const bool may_release = Reclaim::idle(state, need.where.device, out);
  if (!Reclaim::await_departures(state, need.where.device) && !may_release) return false;
  state.accounts.note(Accounts::Event::retry, need.where.device);
  return true;
}

bool CachingAllocator::Ladder::make_room(State& state, std::uint16_t device) {
  const std::uint64_t held = state.accounts.capacities().of(device).held;
  Outcome unused;
  static_cast<void>(end_quarantine(state, {.where = {.device = device}}));
  static_cast<void>(Reclaim::idle(state, device, unused));
  return Reclaim::await_departures(state, device) ||
         state.accounts.capacities().of(device).held < held;
}

// throw_on_cudamalloc_oom: what would pass the limit is refused before anything is tried. Counted
// apart, because nothing ran out.
bool CachingAllocator::Ladder::reject(State& state, const Need& need, Outcome& out) {
  if (!state.limits.throw_on_cudamalloc_oom) return false;
  const double fraction = state.limits.memory_fraction;
  const PlaceMemory* place = state.places.find(need.where);
  if (!place || fits(state, *place, need.bytes, fraction < 0 ? 1.0 : fraction)) return false;
  out.status = {Result::out_of_memory, 0};
  out.source = Source::none;
  state.accounts.note(Accounts::Event::rejection, need.where.device);
  return true;
}

bool CachingAllocator::Ladder::fits(State& state, const PlaceMemory& place, std::uint64_t bytes,
                                    double fraction) {
  const CapacityUse& ours = state.accounts.capacities().use(place.place.device);
  return ours.reserved + ours.awaited + bytes <= Reclaim::part_of(place.total_bytes, fraction);
}

bool CachingAllocator::Ladder::expands(const State& state, const Need& need) {
  return state.limits.expands() && need.store == Store::pools && !need.is_plain;
}

// Pages if they are wished for and can be had. The limit is compared with a whole segment all the
// same, as in PyTorch, but where segments grow by what is needed.
AnyBlock CachingAllocator::Ladder::attempt(State& state, const Need& need, Outcome& out) {
  if (need.store == Store::pinned) return attempt_segment(state, need, out);
  if (exceeds_share(state, need, out)) return {};
  if (!expands(state, need)) return attempt_segment(state, need, out);
  const Status before = out.status;
  const AnyBlock block = Expansion::grow(state, need.where, need.block, out);
  if (out.status.result == Result::failed) {
    out.status = before;
    return attempt_segment(state, need, out);
  }
  if (block && !state.accounts.tags().prepare(out.tag)) out.status = {Result::failed, 0};
  return out.status.ok() ? block : AnyBlock{};
}

AnyBlock CachingAllocator::Ladder::attempt_segment(State& state, const Need& need, Outcome& out) {
  const Address address =
      need.store == Store::pinned ? ask_backend(state, need, out) : reserve(state, need, out);
  if (!out.status.ok()) return {};
  const AnyBlock block = need.store == Store::pools ? add_segment(state, need, address)
                                                    : add_dedicated(state, need, address, out.tag);
  if (!block || !state.accounts.tags().prepare(out.tag)) out.status = {Result::failed, 0};
  Idle::set_caps(state, need.where.device);
  return out.status.ok() ? block : AnyBlock{};
}

// A refusal of the backend's, if there was one before, stays the code that is answered.
bool CachingAllocator::Ladder::exceeds_share(State& state, const Need& need, Outcome& out) {
  const double fraction = state.limits.memory_fraction;
  const PlaceMemory* place = state.places.find(need.where);
  const bool moves = state.limits.growing_segments && expands(state, need);
  const std::uint64_t bytes = moves ? need.least : need.bytes;
  if (!place || fraction < 0 || fits(state, *place, bytes, fraction)) return false;
  out.status = {Result::out_of_memory, out.status.code};
  return true;
}

// As above.
Address CachingAllocator::Ladder::reserve(State& state, const Need& need, Outcome& out) {
  if (exceeds_limit(state.accounts, need.where, need.bytes, out)) {
    out.status = {Result::out_of_memory, out.status.code};
    return 0;
  }
  state.accounts.capacities().ask(need.where, need.bytes);
  const Address address = ask_backend(state, need, out);
  state.accounts.capacities().end_asking(need.where, need.bytes);
  if (out.has_sample) Idle::note_unrecorded(state, need.where.device, out.unrecorded_bytes);
  return address;
}

Address CachingAllocator::Ladder::ask_backend(State& state, const Need& need, Outcome& out) {
  state.unlock();
  const Grant grant = state.backend.reserve(need.where, need.bytes);
  state.lock();
  note_grant(state.accounts, need.where, grant, out);
  return grant.address;
}

// Enters a segment, with records prepared for a cut as well. None: it went back, or stays unused
// where giving it back could free memory that is in use.
AnyBlock CachingAllocator::Ladder::add_segment(State& state, const Need& need, Address address) {
  const std::uint64_t bytes = need.bytes;
  const bool fresh = state.is_fresh(Kind::device, address, bytes);
  const bool usable = fresh && address % kUnit == 0 && bytes <= kMaxBlockBytes &&
                      address <= FreeBlocks::kMaxAddress - bytes;
  assert((usable || bytes > kMaxBlockBytes) &&
         "the backend granted an address that is misaligned, too high or in use");
  try {
    PlaceMemory* place = usable ? state.open_place(need.where) : nullptr;
    if (place && state.prepare_blocks() && state.listed.prepare()) {
      const PoolClass pool = pool_class(need.block);
      Segment& segment = state.segments[address];
      const BlockIndex first = place->pools.add_segment(pool, state.blocks, address,
                                                        to_units(bytes), place->waits.settled());
      segment = {bytes, first, place->slot, pool};
      state.accounts.segment_came(need.where, pool, bytes);
      segment.listed =
          state.listed.add(ListedSegment::Sort::pool, need.where, address, bytes, pool, first);
      state.ranges.device.widen(address, bytes);
      return {state.blocks, first};
    }
  } catch (const std::bad_alloc&) {  // the map's; nothing else was changed
  }
  if (fresh) give_up(state, need.where, address);
  return {};
}

AnyBlock CachingAllocator::Ladder::add_dedicated(State& state, const Need& need, Address address,
                                                 Tag tag) {
  const Kind kind = need.where.kind;
  const bool fresh = state.is_fresh(kind, address, need.bytes);
  assert(fresh && "the backend granted an address that is in use");
  if (need.store == Store::pinned && Pinned::is_cut(state)) {
    const AnyBlock made =
        fresh ? Pinned::add_segment(state, need.where, need.block, address, need.bytes)
              : AnyBlock{};
    if (fresh && !made) give_up(state, need.where, address);
    return made;
  }
  DedicatedBlock* block = nullptr;
  if (fresh && (kind == Kind::pinned || state.open_place(need.where)) &&
      state.accounts.tags().prepare(tag) && state.listed.prepare()) {
    block = state.dedicated.of(kind).add(need.where, address, need.bytes);
  }
  if (block) {
    block->pool = pool_class(need.bytes);
    state.accounts.segment_came(need.where, block->pool, need.bytes);
    block->listed = state.listed.add(*block);
    (kind == Kind::pinned ? state.ranges.pinned : state.ranges.dedicated)
        .widen(address, need.bytes);
    return AnyBlock(block);
  }
  if (fresh) give_up(state, need.where, address);
  return {};
}

// A segment that there is no record for.
void CachingAllocator::Ladder::give_up(State& state, Place where, Address address) {
  state.unlock();
  static_cast<void>(state.backend.release(where, address));
  state.lock();
}

}  // namespace vramscope
