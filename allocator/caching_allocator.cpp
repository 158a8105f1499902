// Allocating and freeing: the calls that happen a million times.
// SPDX-License-Identifier: Apache-2.0
#include "allocator/caching_allocator.h"

#include <new>

#include "allocator/ground/fault.h"
#include "allocator/size_policy.h"
#include "allocator/state.h"

namespace vramscope {
namespace {

constexpr Status kOutOfOwnMemory{Result::failed, 0};

// What no pool can serve, decided before anything is counted.
Status refuse(const Request& request) {
  if (request.bytes == 0) return {Result::invalid, 0};
  if (request.bytes >= kRefused) return {Result::out_of_memory, 0};
  const bool is_served = request.where.kind == Kind::device || request.where.kind == Kind::pinned;
  if (!is_served || request.where.device >= kMaxDevices) return {Result::failed, 0};
  return {};
}

}  // namespace

CachingAllocator::CachingAllocator(Backend& backend, Limits limits)
    : state_(std::make_unique<State>(backend, limits)) {}

CachingAllocator::~CachingAllocator() = default;

Outcome CachingAllocator::State::allocate_otherwise(const Request& request) noexcept {
  Outcome out{.status = refuse(request),
              .requested = request.bytes,
              .where = request.where,
              .tag = request.tag};
  if (!out.status.ok()) return out;
  MutexLock lock(mutex);
  if (request.where.kind == Kind::pinned || request.dedicated) {
    allocate_dedicated(request, out);
  } else {
    allocate(request, out);
  }
  return out;
}

void CachingAllocator::State::allocate(const Request& request, Outcome& out) {
  PlaceMemory* place = open_place(request.where);
  if (place && place->first_pending != kNoBlock) [[unlikely]] {
    drain_pending(request.where, out);
    place = open_place(request.where);
  }
  if (!place || !prepare_blocks() || !accounts.prepare(request.tag)) [[unlikely]] {
    out.status = kOutOfOwnMemory;
    return;
  }
  const std::uint64_t rounded = round_request(request.bytes, limits);
  const Pools::Found found = find_within_limits(place->pools, rounded);
  out.source = Source::hit;
  if (found.block == kNoBlock) return serve_new(rounded, out);
  hand_out_within_limits(*place, found, rounded, out);
  const bool is_settled = is_proved(place->waits, blocks.life(found.block).freed);
  if (!is_settled && !prove(found.block, out)) serve_new(rounded, out);
}

// The free block for `rounded` bytes when an option has a say in it.
Pools::Found CachingAllocator::State::find_within_limits(Pools& pools, std::uint64_t rounded) {
  const PoolClass pool = pool_class(rounded);
  if (limits.collects_garbage()) pools.count_search(pool);
  if (rounded > kMaxBlockBytes) return {};
  const Pools::Found found = pools.find(pool, to_units(rounded));
  if (found.block == kNoBlock) return {};
  return may_serve(to_bytes(found.size), rounded, limits) ? found : Pools::Found{};
}

void CachingAllocator::State::serve_new(std::uint64_t rounded, Outcome& out) {
  const BlockIndex block = obtain(out.where, rounded, out);
  if (block == kNoBlock) return;
  PlaceMemory& place = *places[blocks.life(block).place];
  const PoolClass pool = pool_class(rounded);
  hand_out_within_limits(place, Pools::found(pool, blocks, block), rounded, out);
}

void CachingAllocator::State::hand_out_within_limits(PlaceMemory& place, const Pools::Found& found,
                                                     std::uint64_t rounded, Outcome& out) {
  const PoolClass pool = pool_class(rounded);
  Units size = to_units(rounded);
  if (!worth_splitting(pool, rounded, to_bytes(found.size - size), limits)) size = found.size;
  out.address = blocks[found.block].address();
  out.rounded = to_bytes(size);
  hand_out(place, pool, found, size, out);
}

Outcome CachingAllocator::State::free_otherwise(Address address, Wait when, Only only) noexcept {
  Outcome out{.status = {Result::invalid, 0}, .address = address};
  if (only != Only::device && pinned_range.contains(address) &&
      free_dedicated(Kind::pinned, address, when, out)) {
    return out;
  }
  if (only == Only::pinned) return out;
  if (dedicated_range.contains(address) && free_dedicated(Kind::device, address, when, out))
    return out;
  free(address, when, out);
  // It may have been set apart between the two steps of the free (note_export).
  if (out.status.result == Result::invalid && dedicated_range.contains(address)) [[unlikely]] {
    static_cast<void>(free_dedicated(Kind::device, address, when, out));
  }
  if (fault(Fault::double_free) && out.status.result == Result::invalid) out.status = {};
  return out;
}

// Ok: what was submitted has finished; at_reuse: that is proved later.
Reply CachingAllocator::State::wait_at_free(Place where) noexcept {
  if (reuse == ReuseTime::at_free) [[likely]]
    return backend.wait(where);
  return {{backend.may_wait(where) ? Result::ok : Result::forbidden, 0}, 0};
}

// True: the device may be used now, and `out` tells what came of it.
bool CachingAllocator::State::wait_for(Place where, Outcome& out) noexcept {
  const Reply waited = fault(Fault::reuse_without_waiting) ? Reply{} : wait_at_free(where);
  if (waited.status.result == Result::forbidden) return false;
  out.wait_ns += waited.ns;
  out.status = waited.status;
  return true;
}

// Two critical sections with the wait between them. Between the two the block stays live; if
// somebody else freed it meanwhile its serial is gone, even when the address is live again.
void CachingAllocator::State::free(Address address, Wait when, Outcome& out) noexcept {
  BlockIndex block = kNoBlock;
  std::uint64_t serial = 0;
  std::uint32_t newest_pending = 0;
  {
    MutexLock lock(mutex);
    block = blocks.find(address);
    if (block == kNoBlock || !blocks[block].is_live()) return;
    serial = blocks.life(block).serial();
    const PlaceMemory& place = *places[blocks.life(block).place];
    newest_pending = place.newest_pending;
    out.where = place.place;
  }
  const bool waited = when == Wait::now && wait_for(out.where, out);
  if (waited && !out.status.ok()) return;
  out.status = {Result::invalid, 0};
  MutexLock lock(mutex);
  if (!blocks[block].is_live() || blocks.life(block).serial() != serial) return;
  PlaceMemory& place = *places[blocks.life(block).place];
  const Block& b = blocks[block];
  out.status = {};
  out.rounded = to_bytes(b.size);
  out.requested = b.requested;
  out.tag = b.tag;
  out.serial = last_serial.load(std::memory_order_relaxed);
  if (waited && held_up_to == 0 && place.first_pending != kNoBlock) {
    complete_pending(place, newest_pending);
  }
  const bool completes = waited && !is_held(serial);
  if (completes) {
    release(place, blocks.find_entry(address), serial, place.waits.now());
  } else {
    add_pending(place, block, serial);
  }
}

void CachingAllocator::join(Tag tag, const Groups& groups) noexcept {
  MutexLock lock(state_->mutex);
  state_->accounts.join(tag, groups);
}

void CachingAllocator::open(Place where) noexcept {
  if (where.kind != Kind::device || where.device >= kMaxDevices) return;
  MutexLock lock(state_->mutex);
  static_cast<void>(state_->open_place(where));
}

void CachingAllocator::trim() noexcept {
  MutexLock lock(state_->mutex);
  Outcome out;
  for (std::size_t i = 0; i < kMaxDevices; ++i) {
    if (state_->accounts.has_device(static_cast<std::uint16_t>(i)))
      state_->release_idle(static_cast<std::uint16_t>(i), out);
  }
}

void CachingAllocator::trim_pinned(Place where) noexcept {
  MutexLock lock(state_->mutex);
  Outcome out;
  if (state_->may_release(where)) state_->release_idle_dedicated(where, out);
}

std::uint64_t CachingAllocator::forget_place(Place where) noexcept {
  MutexLock lock(state_->mutex);
  state_->forget_place(where);
  return state_->last_serial.load(std::memory_order_relaxed);
}

void CachingAllocator::reset_peaks() noexcept {
  MutexLock lock(state_->mutex);
  state_->accounts.reset_peaks();
}

void CachingAllocator::reset_accumulated() noexcept {
  MutexLock lock(state_->mutex);
  state_->accounts.reset_accumulated();
}

void CachingAllocator::reset_peaks(std::uint16_t device) noexcept {
  MutexLock lock(state_->mutex);
  state_->accounts.reset_peaks(device);
}

void CachingAllocator::reset_accumulated(std::uint16_t device) noexcept {
  MutexLock lock(state_->mutex);
  state_->accounts.reset_accumulated(device);
}

void CachingAllocator::reset_host_accumulated() noexcept {
  MutexLock lock(state_->mutex);
  state_->accounts.reset_host_accumulated();
}

void CachingAllocator::set_limits(Limits limits) noexcept {
  MutexLock lock(state_->mutex);
  state_->limits = limits;
  state_->plain_hits = limits.has_plain_hits();
  state_->accounts.set_oversize_from(limits.max_split_size);
  state_->note_usual_places();
}

void CachingAllocator::hold_blocks() noexcept {
  if (fault(Fault::graph_blocks_reused)) return;
  MutexLock lock(state_->mutex);
  state_->hold_up_to(state_->last_serial.load(std::memory_order_relaxed));
}

void CachingAllocator::let_go() noexcept {
  MutexLock lock(state_->mutex);
  state_->hold_up_to(0);
}

std::uint32_t CachingAllocator::begin_wait(Place where) noexcept {
  MutexLock lock(state_->mutex);
  if (where.kind == Kind::pinned) return state_->pinned_waits.begin();
  PlaceMemory* place = state_->find_place(where);
  return place ? place->waits.begin() : 0;
}

void CachingAllocator::end_wait(Place where, std::uint32_t number) noexcept {
  MutexLock lock(state_->mutex);
  if (where.kind == Kind::pinned) return state_->pinned_waits.end(number);
  if (PlaceMemory* place = state_->find_place(where)) place->waits.end(number);
}

std::string CachingAllocator::check_invariants() const {
  MutexLock lock(state_->mutex);
  return state_->check_invariants();
}

}  // namespace vramscope
