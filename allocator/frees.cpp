// Frees blocks and proves them unused, with the same steps for blocks of pools and dedicated ones.
// Reuse makes the decisions.
// SPDX-License-Identifier: Apache-2.0
#include "allocator/base/fault.h"
#include "allocator/idle.h"
#include "allocator/state.h"

namespace vramscope {
namespace {

Kind kind_of(Store store) { return store == Store::pinned ? Kind::pinned : Kind::device; }

void take_back(Outcome& out) {
  out.address = 0;
  out.rounded = 0;
  out.source = Source::none;
}

}  // namespace

AnyBlock CachingAllocator::State::find_block(Store store, Address address) {
  if (store == Store::pools) return {blocks, blocks.find(address)};
  if (store == Store::pinned && pinned.is_cut()) {
    return {pinned.blocks(), pinned.blocks().find(address)};
  }
  return AnyBlock(dedicated.of(kind_of(store)).find(address));
}

Place CachingAllocator::State::place_of(const AnyBlock& block) const {
  if (const DedicatedBlock* own = block.dedicated()) return own->where;
  if (block.is_in(pinned.blocks())) {
    return pinned.place_of(block.index());
  }
  return places[blocks.life(block.index()).place]->place;
}

PendingFrees* CachingAllocator::State::pending_of(Store store, Place where) {
  if (store == Store::pinned && pinned.is_cut()) {
    return pinned.pending_of(where);
  }
  if (store != Store::pools) return &reuse.pending(kind_of(store));
  PlaceMemory* place = places.find(where);
  return place ? &place->pending : nullptr;
}

Waits& CachingAllocator::State::waits_of(Place where) {
  return where.kind == Kind::pinned ? reuse.pinned_waits(where) : places.find(where)->waits;
}

Outcome CachingAllocator::State::free_otherwise(Address address, Wait when, Only only) noexcept {
  Outcome out{.status = {Result::invalid, 0}, .address = address};
  if (only != Only::device && ranges.pinned.contains(address) &&
      free(Store::pinned, address, when, out)) {
    return out;
  }
  if (only == Only::pinned) return out;
  if (ranges.dedicated.contains(address) && free(Store::dedicated, address, when, out)) return out;
  static_cast<void>(free(Store::pools, address, when, out));
  // note_export() may have set it apart between the two steps of the free.
  if (out.status.result == Result::invalid && ranges.dedicated.contains(address)) [[unlikely]] {
    static_cast<void>(free(Store::dedicated, address, when, out));
  }
  if (fault(Fault::double_free) && out.status.result == Result::invalid) out.status = {};
  return out;
}

// A free has two critical sections with the wait between them, during which the block stays live.
// If somebody else frees it meanwhile, its serial changes, even if the address is live again.
bool CachingAllocator::State::free(Store store, Address address, Wait when, Outcome& out) noexcept {
  Reuse::Free known;
  {
    const QuietLock section(*this);
    const AnyBlock block = find_block(store, address);
    if (!block) return false;
    if (!block.is_live()) return true;
    out.where = place_of(block);
    known = Reuse::begin_free(block, *pending_of(store, out.where));
  }
  const bool skips = store == Store::pinned && fault(Fault::pinned_reuse_without_waiting);
  bool waited =
      skips || (when == Wait::now && Reuse::wait_for(backend, reuse_time, out.where, out));
  // The backend must refuse before the block is freed.
  if (waited && known.goes_back && reuse_time == ReuseTime::at_reuse) {
    out.status = backend.probe(out.where).status;
    waited = out.status.result != Result::forbidden;
  }
  if (waited && !out.status.ok()) return true;
  out.status = {Result::invalid, 0};
  const ScopedLock section(*this);
  const AnyBlock block = find_block(store, address);
  if (!block || !block.is_live() || block.serial() != known.serial) return true;
  finish_free(store, block, known, waited, out);
  Idle::shed(*this, out.where, out);
  return true;
}

void CachingAllocator::State::finish_free(Store store, const AnyBlock& block,
                                          const Reuse::Free& known, bool waited, Outcome& out) {
  const CountedBlock counted = block.counted();
  out.status = {};
  out.rounded = counted.bytes;
  out.requested = counted.requested;
  out.tag = counted.tag;
  out.serial = last_serial.load(std::memory_order_relaxed);
  PendingFrees& pending = *pending_of(store, out.where);
  const bool completes = reuse.may_complete(known, waited);
  if (completes && (reuse.holds() || pending.empty())) {
    out.status = make_reusable(block, known.serial, out);
    return;
  }
  pending.add(block);
  if (const DedicatedBlock* own = block.dedicated()) listed.note(*own);
  accounts.given_up(out.where, counted, known.serial);
  if (completes) {
    const bool is_late = fault(Fault::later_frees_completed);
    const std::uint32_t newest = is_late ? pending.newest() : known.newest_pending;
    out.status = complete(store, out.where, newest, block.pending(), out);
  }
}

// Returns the backend's answer if the block was exported, because the program would have got it.
Status CachingAllocator::State::make_reusable(const AnyBlock& block, std::uint64_t life,
                                              Outcome& out) {
  const Place where = place_of(block);
  const CountedBlock counted = block.counted();
  // A block that the program never saw keeps its number, as if it had stayed free.
  const Waits::Number freed =
      life == Accounts::kNoLife ? block.freed() : reuse.number_of_free(waits_of(where));
  if (DedicatedBlock* own = block.dedicated()) {
    own->state = BlockState::inactive;
    own->freed = freed;
    life == kGivenUp ? accounts.reusable(where, counted) : accounts.freed(where, counted, life);
    listed.note(*own);
    return dedicated.store(*this, *own, out);
  }
  if (block.is_in(pinned.blocks())) {
    pinned.put_back(*this, block, life, freed, out);
    return {};
  }
  PlaceMemory& place = *places[blocks.life(block.index()).place];
  const BlockTable::Entry entry = blocks.find_entry(blocks[block.index()].address());
  if (life != kGivenUp) {
    release(place, entry, life, freed);
    return {};
  }
  blocks.keep_around(entry.block);
  accounts.reusable(where, counted);
  if (blocks[entry.block].is_expandable()) {
    blocks.life(entry.block).freed = freed;
    static_cast<void>(Expansion::put_free(*this, place, entry.block));
  } else {
    if (reuse_time == ReuseTime::at_reuse) Pools::number(blocks, entry.block, freed);
    const SplitChange split = place.pools.give_back(counted.pool, blocks, entry);
    accounts.merged_later(place.accounts, counted.pool, split);
  }
  return {};
}

// Returns the result of the free numbered `own`.
Status CachingAllocator::State::complete(Store store, Place where, std::uint32_t newest,
                                         std::uint32_t own, Outcome& out) {
  Status of_own;
  while (PendingFrees* pending = pending_of(store, where)) {
    const AnyBlock block = pending->take(where, newest, own);
    if (!block) break;
    const bool is_own = block.pending() == own;
    const Status status = make_reusable(block, kGivenUp, out);
    if (is_own) of_own = status;
  }
  return of_own;
}

void CachingAllocator::State::drain(Store store, Place where, Outcome& out) {
  const PendingFrees* pending = pending_of(store, where);
  if (!pending || !pending->has(where) || reuse.holds()) return;
  const std::uint32_t newest = pending->newest();
  Outcome waited;
  unlock();
  const bool completes = Reuse::wait_for(backend, reuse_time, where, waited) && waited.status.ok();
  lock();
  out.wait_ns += waited.wait_ns;
  if (completes && !reuse.holds()) static_cast<void>(complete(store, where, newest, newest, out));
}

// The block is live already, so that no other request gets it meanwhile and every total includes
// it. If it no longer exists afterwards, its context has ended, and the driver answers the call.
bool CachingAllocator::State::prove(Store store, const AnyBlock& block, Outcome& out) {
  const std::uint64_t serial = block.serial();
  Waits& waits = waits_of(out.where);
  const bool must_wait = !waits.cover(block.freed());
  const Waits::Number number = must_wait ? waits.begin() : 0;
  unlock();
  const Reply reply = Reuse::ask(backend, out.where, must_wait);
  lock();
  const Reuse::Answer answer = reuse.take_answer(reply, must_wait, out);
  const AnyBlock now = find_block(store, out.address);
  const bool is_ours = now && now.is_live() && now.serial() == serial;
  if (is_ours && answer == Reuse::Answer::fine) {
    if (must_wait) waits_of(out.where).end(number);
    return true;
  }
  Outcome unused;
  if (is_ours) {
    const CountedBlock counted = now.counted();
    static_cast<void>(make_reusable(now, Accounts::kNoLife, unused));
    accounts.unseen(out.where, counted);
  }
  if (!is_ours) out.status = {Result::failed, 0};
  take_back(out);
  return !is_ours || answer == Reuse::Answer::error;
}

}  // namespace vramscope
