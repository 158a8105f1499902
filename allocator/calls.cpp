// The public calls, and the allocation that depends on an option or a pending free.
// SPDX-License-Identifier: Apache-2.0
#include "allocator/caching_allocator.h"

#include <new>

#include "allocator/base/fault.h"
#include "allocator/base/size_policy.h"
#include "allocator/idle.h"
#include "allocator/invariants.h"
#include "allocator/ladder.h"
#include "allocator/live_books.h"
#include "allocator/state.h"

namespace vramscope {
namespace {

constexpr Status kOutOfOwnMemory{Result::failed, 0};

// Refuses a request that no pool can serve, before anything is counted.
Status refuse(const Request& request) {
  if (request.bytes == 0) return {Result::invalid, 0};
  if (request.bytes >= kRefused) return {Result::out_of_memory, 0};
  const bool is_served = request.where.kind == Kind::device || request.where.kind == Kind::pinned;
  if (!is_served || request.where.device >= kMaxDevices) return {Result::failed, 0};
  return {};
}

}  // namespace

CachingAllocator::CachingAllocator(Backend& backend, Limits limits, LiveMemory* live,
                                   std::uint64_t start_ns)
    : state_(make_live<State>(live, backend, limits, live, start_ns)) {
  if (!state_) throw std::bad_alloc();
  publish_books(live, state_->accounts);
  prepare_biases();
}

CachingAllocator::~CachingAllocator() = default;

Outcome CachingAllocator::State::allocate_otherwise(const Request& request) noexcept {
  Outcome out{.status = refuse(request),
              .requested = request.bytes,
              .where = request.where,
              .tag = request.tag};
  if (!out.status.ok()) return out;
  const ScopedLock section(*this);
  Idle::yield(*this, request.where, out);
  if (request.where.kind == Kind::pinned || request.dedicated) {
    dedicated.allocate(*this, request, out);
  } else {
    allocate(request, out);
  }
  return out;
}

void CachingAllocator::State::allocate(const Request& request, Outcome& out) {
  PlaceMemory* place = open_place(request.where);
  if (place && !place->pending.empty()) [[unlikely]] {
    drain(Store::pools, request.where, out);
    Idle::shed(*this, request.where, out);
    place = open_place(request.where);
  }
  if (!place || !prepare_blocks() || !accounts.tags().prepare(request.tag)) [[unlikely]] {
    out.status = kOutOfOwnMemory;
    return;
  }
  const std::uint64_t rounded = round_request(request.bytes, limits);
  const Pools::Found found = find_within_limits(*place, rounded);
  out.source = Source::hit;
  if (found.block == kNoBlock) return serve_new(rounded, out);
  hand_out_within_limits(*place, found, rounded, out);
  const bool is_settled = reuse.is_proved(place->waits, blocks.life(found.block).freed);
  if (!is_settled && !prove(Store::pools, {blocks, found.block}, out)) serve_new(rounded, out);
}

// Finds the free block for `rounded` bytes if an option influences the choice.
Pools::Found CachingAllocator::State::find_within_limits(PlaceMemory& place,
                                                         std::uint64_t rounded) {
  const PoolClass pool = pool_class(rounded);
  if (limits.collects_garbage()) place.pools.count_search(pool);
  if (rounded > kMaxBlockBytes) return {};
  const Pools::Found found = limits.expands()
                                 ? Expansion::find(*this, place, pool, to_units(rounded))
                                 : place.pools.find(pool, to_units(rounded));
  if (found.block == kNoBlock) return {};
  return may_serve(to_bytes(found.size), rounded, limits) ? found : Pools::Found{};
}

// A block that grew may have been in use before, so it needs the same proof as every free block.
void CachingAllocator::State::serve_new(std::uint64_t rounded, Outcome& out) {
  if (limits.policy == Policy::native_safe) Idle::count_miss(*this, out.where);
  Ladder::Need need{.store = Store::pools,
                    .where = out.where,
                    .block = rounded,
                    .bytes = segment_bytes(rounded, limits),
                    .least = least_segment_bytes(rounded)};
  do {
    const AnyBlock block = Ladder(need, out).obtain(*this);
    if (!block) return;
    PlaceMemory& place = *places[blocks.life(block.index()).place];
    const PoolClass pool = pool_class(rounded);
    const Waits::Number freed = block.freed();
    hand_out_within_limits(place, Pools::found(pool, blocks, block.index()), rounded, out);
    if (!blocks[block.index()].is_expandable() || reuse.is_proved(place.waits, freed)) return;
    need.is_plain = true;
  } while (!prove(Store::pools, find_block(Store::pools, out.address), out));
}

void CachingAllocator::State::hand_out_within_limits(PlaceMemory& place, const Pools::Found& found,
                                                     std::uint64_t rounded, Outcome& out) {
  const PoolClass pool = pool_class(rounded);
  Units size = to_units(rounded);
  if (!worth_splitting(pool, rounded, to_bytes(found.size - size), limits)) size = found.size;
  out.address = blocks[found.block].address();
  out.rounded = to_bytes(size);
  blocks.keep(found.block);
  accounts.tags().keep(out.tag);
  if (blocks[found.block].is_expandable()) {
    return Expansion::hand_out(*this, place, found.block, size, out);
  }
  hand_out(place, pool, found, size, out);
}

void CachingAllocator::join(Tag tag, const Groups& groups) noexcept {
  const ScopedLock section(*state_);
  state_->accounts.tags().join(tag, groups);
}

void CachingAllocator::open(Place where) noexcept {
  if (where.kind != Kind::device || where.device >= kMaxDevices) return;
  const ScopedLock section(*state_);
  static_cast<void>(state_->open_place(where));
}

void CachingAllocator::trim(std::atomic<bool>* at_next_call) noexcept {
  const ScopedLock section(*state_);
  if (at_next_call != nullptr) return Idle::post_trim(*state_, *at_next_call);
  Outcome out;
  for (std::uint16_t i = 0; i < kMaxDevices; ++i) state_->reclaim.idle(*state_, i, out);
}

bool CachingAllocator::trim_pinned(std::optional<Place> where) noexcept {
  const ScopedLock section(*state_);
  Outcome out;
  const std::uint64_t before = state_->pinned.reserved();
  if (!where) {
    state_->pinned.release_all_idle(*state_, out);
  } else if (Reclaim::may_release(*state_, *where)) {
    state_->pinned.is_cut() ? state_->pinned.release_idle(*state_, *where, out)
                            : state_->reclaim.idle_dedicated(*state_, *where, out);
  }
  return state_->pinned.reserved() < before;
}

std::uint64_t CachingAllocator::forget_place(Place where) noexcept {
  const ScopedLock section(*state_);
  state_->reclaim.forget_place(*state_, where);
  state_->expansion.drop_abandoned(*state_, where);
  return state_->last_serial.load(std::memory_order_relaxed);
}

void CachingAllocator::reset_peaks(std::optional<std::uint16_t> device) noexcept {
  const ScopedLock section(*state_);
  state_->accounts.reset_peaks(device);
}

void CachingAllocator::reset_accumulated(std::optional<std::uint16_t> device) noexcept {
  const ScopedLock section(*state_);
  state_->accounts.reset_accumulated(device);
}

void CachingAllocator::reset_host_accumulated() noexcept {
  const ScopedLock section(*state_);
  state_->accounts.reset_host_accumulated();
}

void CachingAllocator::set_limits(Limits limits) noexcept {
  const ScopedLock section(*state_);
  limits.policy = state_->limits.policy;
  limits = limits.under_policy();
  state_->limits = limits;
  state_->plain_hits = limits.has_plain_hits();
  state_->accounts.set_oversize_from(limits.max_split_size);
  for (std::uint16_t device = 0; device < kMaxDevices; ++device) Idle::set_caps(*state_, device);
}

void CachingAllocator::hold_blocks() noexcept {
  if (fault(Fault::graph_blocks_reused)) return;
  const ScopedLock section(*state_);
  state_->reuse.hold_up_to(state_->last_serial.load(std::memory_order_relaxed));
}

void CachingAllocator::let_go() noexcept {
  const ScopedLock section(*state_);
  state_->reuse.hold_up_to(0);
}

std::uint32_t CachingAllocator::begin_wait(Place where) noexcept {
  const ScopedLock section(*state_);
  if (where.kind == Kind::pinned) {
    Waits* const waits = state_->reuse.find_pinned_waits(where);
    return waits ? waits->begin() : 0;
  }
  PlaceMemory* place = state_->places.find(where);
  return place ? place->waits.begin() : 0;
}

void CachingAllocator::end_wait(Place where, std::uint32_t number) noexcept {
  const ScopedLock section(*state_);
  if (where.kind == Kind::pinned) {
    if (Waits* const waits = state_->reuse.find_pinned_waits(where)) waits->end(number);
  } else if (PlaceMemory* place = state_->places.find(where)) {
    place->waits.end(number);
  }
}

std::string CachingAllocator::check_invariants() const {
  const ScopedLock section(*state_);
  return Invariants::check(*state_);
}

}  // namespace vramscope
