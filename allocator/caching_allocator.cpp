// Allocating and freeing: the calls that happen a million times.
// SPDX-License-Identifier: Apache-2.0
#include "allocator/caching_allocator.h"

#include <new>

#include "allocator/size_policy.h"
#include "allocator/state.h"

#ifdef VRAMSCOPE_CHECK_INVARIANTS
#include <cassert>
#define VRAMSCOPE_ASSERT_INVARIANTS(state) assert((state).check_invariants().empty())
#else
#define VRAMSCOPE_ASSERT_INVARIANTS(state) static_cast<void>(0)
#endif

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

Outcome CachingAllocator::allocate(const Request& request) noexcept {
  Outcome out{.status = refuse(request),
              .requested = request.bytes,
              .tag = request.tag,
              .where = request.where};
  if (!out.status.ok()) return out;
  MutexLock lock(state_->mutex);
  if (request.where.kind == Kind::pinned) [[unlikely]] {
    state_->allocate_pinned(request, out);
  } else if (request.whole) [[unlikely]] {
    state_->allocate_whole(request, out);
  } else {
    state_->allocate(request, out);
  }
  VRAMSCOPE_ASSERT_INVARIANTS(*state_);
  return out;
}

void CachingAllocator::State::allocate(const Request& request, Outcome& out) {
  PlaceMemory* place = open_place(request.where);
  if (place && place->first_pending != kNoBlock) [[unlikely]] {
    drain_pending(request.where, out);
    place = open_place(request.where);
  }
  if (!place || !blocks.prepare() || !ledger.prepare(request.tag)) [[unlikely]] {
    out.status = kOutOfOwnMemory;
    return;
  }
  std::uint64_t rounded = round_request(request.bytes);
  BlockIndex block = kNoBlock;
  if (!plain_hits) [[unlikely]] {
    rounded = round_request(request.bytes, limits);
    block = find_within_limits(place->pool(pool_class(rounded)), rounded);
  } else if (rounded <= kMaxBlockBytes) {
    block = place->pool(pool_class(rounded)).find(to_units(rounded));
  }
  out.source = Source::hit;
  if (block != kNoBlock) {
    hand_out(*place, block, rounded, out);
    if (is_proved(place->waits, blocks[block].freed) || prove(block, out)) return;
  }
  block = obtain(request.where, rounded, out);
  if (block != kNoBlock) hand_out(*places[blocks[block].place], block, rounded, out);
}

// The free block for `rounded` bytes when an option has a say in it.
BlockIndex CachingAllocator::State::find_within_limits(Pool& pool, std::uint64_t rounded) {
  if (limits.collects_garbage()) pool.count_search();
  if (rounded > kMaxBlockBytes) return kNoBlock;
  const BlockIndex block = pool.find(to_units(rounded));
  if (block == kNoBlock) return kNoBlock;
  return may_serve(to_bytes(blocks[block].size), rounded, limits) ? block : kNoBlock;
}

// `block` is free and large enough; one record and the tag's total are prepared.
void CachingAllocator::State::hand_out(PlaceMemory& place, BlockIndex block, std::uint64_t rounded,
                                       Outcome& out) {
  Pool& pool = place.pool(blocks[block].pool);
  const Units size = to_units(rounded);
  const std::uint64_t rest = to_bytes(blocks[block].size - size);
  const bool cut = worth_splitting(pool.kind(), rounded, rest, limits);
  const SplitChange split = pool.take(block, size, cut ? Pool::Cut::yes : Pool::Cut::no);
  Block& b = blocks[block];
  b.tag = out.tag;
  b.requested = out.requested;
  b.set_serial(next_serial());
  blocks.insert(block);
  out.address = b.address;
  out.rounded = to_bytes(b.size);
  DeviceCounters& counters = device_of(place.place).counters;
  counters.count_allocation(pool.kind(), out.rounded, out.requested, split);
  if (is_oversize(out.rounded, limits)) counters.rare().oversize_allocations.increase(1);
  ledger.count_allocation(place.place, out.tag, out.requested);
}

Outcome CachingAllocator::free(Address address, Wait when) noexcept {
  Outcome out{.status = {Result::invalid, 0}, .address = address};
  if (state_->pinned_range.contains(address) && state_->free_pinned(address, out)) return out;
  if (state_->whole_range.contains(address) && state_->free_whole(address, when, out)) {
    return out;
  }
  if (when == Wait::later || !state_->free_in_sole_place(address, out)) {
    state_->free(address, when, out);
  }
  // It may have been set apart between the two steps of the free (note_export).
  if (out.status.result == Result::invalid && state_->whole_range.contains(address)) [[unlikely]] {
    static_cast<void>(state_->free_whole(address, when, out));
  }
  return out;
}

// True: the device may be used now, and what was submitted has finished (at_reuse: that is proved
// later) or `out` tells why not.
bool CachingAllocator::State::wait_for(Place where, Outcome& out) noexcept {
  if (!backend.may_wait(where)) return false;
  if (reuse == Reuse::at_reuse) {
    out.status = {};
    return true;
  }
  const Reply waited = backend.wait(where);
  out.wait_ns += waited.ns;
  out.status = waited.status;
  return true;
}

// The usual free: the place is known before the block is, so one critical section is enough. A
// block that began its life after the wait did is not the one that the program meant. False: not
// decided here.
bool CachingAllocator::State::free_in_sole_place(Address address, Outcome& out) noexcept {
  const std::uint64_t packed = sole_place.load(std::memory_order_acquire);
  if (packed == kSeveralPlaces || !device_range.contains(address)) return false;
  const std::uint64_t newest = last_serial.load(std::memory_order_relaxed);
  if (!wait_for(unpack(packed), out)) return false;
  const Status waited = out.status;
  out.status = {Result::invalid, 0};
  MutexLock lock(mutex);
  const BlockTable::Entry entry = blocks.find_entry(address);
  const BlockIndex block = entry.block;
  if (block == kNoBlock || !blocks[block].is_live()) return true;
  if (!waited.ok()) [[unlikely]] {
    out.status = waited;
    return true;
  }
  PlaceMemory& place = *places[blocks[block].place];
  if (pack(place.place) != packed) return false;
  if (blocks[block].serial() > newest) return true;
  describe_free(place, block, out);
  if (is_held(blocks[block].serial())) [[unlikely]] {
    add_pending(place, block);
  } else {
    release(place, entry, number_of_free(place.waits));
  }
  VRAMSCOPE_ASSERT_INVARIANTS(*this);
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
    serial = blocks[block].serial();
    const PlaceMemory& place = *places[blocks[block].place];
    newest_pending = place.newest_pending;
    out.where = place.place;
  }
  const bool waited = when == Wait::now && wait_for(out.where, out);
  if (waited && !out.status.ok()) return;
  out.status = {Result::invalid, 0};
  MutexLock lock(mutex);
  if (!blocks[block].is_live() || blocks[block].serial() != serial) return;
  PlaceMemory& place = *places[blocks[block].place];
  describe_free(place, block, out);
  if (waited && held_up_to == 0 && place.first_pending != kNoBlock) {
    complete_pending(place, newest_pending);
  }
  if (waited && !is_held(serial)) {
    release(place, blocks.find_entry(address), number_of_free(place.waits));
  } else {
    add_pending(place, block);
  }
  VRAMSCOPE_ASSERT_INVARIANTS(*this);
}

// What the outcome of a free that succeeds tells about its block.
void CachingAllocator::State::describe_free(PlaceMemory& place, BlockIndex block, Outcome& out) {
  const Block& b = blocks[block];
  out.status = {};
  out.rounded = to_bytes(b.size);
  out.requested = b.requested;
  out.tag = b.tag;
  out.where = place.place;
  ledger.count_lifetime(b.tag, born_ns(b.serial()));
}

void CachingAllocator::State::release(PlaceMemory& place, BlockTable::Entry entry,
                                      Waits::Number freed) {
  const Block& b = blocks[entry.block];
  const PoolClass pool = b.pool;
  const std::uint64_t bytes = to_bytes(b.size);
  const std::uint64_t requested = b.requested;
  const Tag tag = b.tag;
  blocks.erase(entry);
  const SplitChange split = place.pool(pool).give_back(entry.block, freed);
  DeviceCounters& counters = device_of(place.place).counters;
  counters.count_free(pool, bytes, requested, split);
  if (is_oversize(bytes, limits)) counters.rare().oversize_allocations.decrease(1);
  ledger.count_free(place.place, tag, requested);
}

void CachingAllocator::join(Tag tag, const Groups& groups) noexcept {
  MutexLock lock(state_->mutex);
  state_->ledger.join(tag, groups);
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
    if (state_->devices[i]) state_->release_idle(static_cast<std::uint16_t>(i), out);
  }
  VRAMSCOPE_ASSERT_INVARIANTS(*state_);
}

void CachingAllocator::trim_pinned() noexcept {
  MutexLock lock(state_->mutex);
  Outcome out;
  state_->release_all_idle_pinned(out);
}

void CachingAllocator::forget_place(Place where) noexcept {
  MutexLock lock(state_->mutex);
  state_->forget_place(where);
  VRAMSCOPE_ASSERT_INVARIANTS(*state_);
}

void CachingAllocator::reset_peaks() noexcept {
  MutexLock lock(state_->mutex);
  for (auto& device : state_->devices) {
    if (device) device->counters.reset_peaks();
  }
  state_->host.reset_peaks();
  state_->ledger.reset_peaks();
}

void CachingAllocator::reset_accumulated() noexcept {
  MutexLock lock(state_->mutex);
  for (auto& device : state_->devices) {
    if (device) device->counters.reset_accumulated();
  }
  state_->host.reset_accumulated();
}

void CachingAllocator::reset_peaks(std::uint16_t device) noexcept {
  MutexLock lock(state_->mutex);
  if (state_->devices[device]) state_->devices[device]->counters.reset_peaks();
  state_->ledger.reset_peak(Kind::device, device);
}

void CachingAllocator::reset_accumulated(std::uint16_t device) noexcept {
  MutexLock lock(state_->mutex);
  if (state_->devices[device]) state_->devices[device]->counters.reset_accumulated();
}

void CachingAllocator::set_limits(Limits limits) noexcept {
  MutexLock lock(state_->mutex);
  state_->limits = limits;
  state_->plain_hits = limits.has_plain_hits();
}

void CachingAllocator::hold_blocks() noexcept {
  MutexLock lock(state_->mutex);
  state_->held_up_to = state_->last_serial.load(std::memory_order_relaxed);
}

void CachingAllocator::let_go() noexcept {
  MutexLock lock(state_->mutex);
  state_->held_up_to = 0;
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
