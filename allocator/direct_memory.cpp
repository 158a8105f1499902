// Memory that the program got from the driver itself: adopted, counted, forgotten.
// SPDX-License-Identifier: Apache-2.0
#include <iterator>
#include <new>
#include <utility>

#include "allocator/size_policy.h"
#include "allocator/state.h"

namespace vramscope {
namespace {

template <class Change>
void change_host(HostStatistics& host, std::uint64_t bytes, Change change) {
  const auto size = static_cast<std::int64_t>(bytes);
  change(host.allocated, 1);
  change(host.allocated_bytes, size);
  change(host.segment, 1);
  change(host.reserved_bytes, size);
  change(host.active_requests, 1);
  change(host.active_bytes, size);
}

}  // namespace

Outcome CachingAllocator::adopt(Place where, Address address, std::size_t bytes, Tag tag,
                                Promise promise) noexcept {
  Outcome out{.status = {Result::invalid, 0},
              .address = address,
              .rounded = bytes,
              .requested = bytes,
              .where = where,
              .tag = tag};
  const bool representable = bytes < kRefused && address <= ~Address{0} - bytes;
  MutexLock lock(state_->mutex);
  state_->rooms[promise.device].promised -= promise.bytes;
  if (bytes == 0 || address == 0 || !representable || where.device >= kMaxDevices) return out;
  state_->adopt(where, address, bytes, out);
  return out;
}

void CachingAllocator::State::adopt(Place where, Address address, std::size_t bytes, Outcome& out) {
  forget_overlapping(space_of(where.kind), address, bytes);
  out.status = {Result::failed, 0};
  if (!ledger.prepare(out.tag)) return;
  if (where.kind == Kind::device && !open_device(where.device)) return;
  out.serial = next_birth();
  const DirectMemory direct{bytes, out.serial, where, out.tag};
  Directs& directs = directs_of(where.kind);
  if (spare) {
    spare.key() = address;
    spare.mapped() = direct;
    directs.insert(std::move(spare));
  } else {
    try {
      directs.emplace(address, direct);
    } catch (const std::bad_alloc&) {
      return;
    }
  }
  count_direct(direct);
  out.status = {};
  out.source = Source::direct;
}

void CachingAllocator::State::count_direct(const DirectMemory& direct) {
  if (direct.where.kind == Kind::device) {
    DeviceCounters& counters = device_of(direct.where).counters;
    const PoolClass pool = pool_class(direct.bytes);
    count_segment(counters, pool, direct.bytes);
    counters.count_allocation(pool, direct.bytes, direct.bytes, {});
    if (is_oversize(direct.bytes, limits)) counters.rare().oversize_allocations.increase(1);
  } else if (is_host(direct.where.kind)) {
    host_used = true;
    ++host.num_host_alloc;
    change_host(host, direct.bytes, [](Stat& stat, std::int64_t n) { stat.increase(n); });
  }
  if (takes_device_memory(direct.where.kind)) rooms[direct.where.device].direct += direct.bytes;
  ledger.count_allocation(direct.where, direct.tag, direct.bytes);
}

Outcome CachingAllocator::forget(Address address) noexcept { return forget(Kind::device, address); }

Outcome CachingAllocator::forget(Kind kind, Address address, std::uint64_t newest) noexcept {
  Outcome out{.status = {Result::invalid, 0}, .address = address};
  MutexLock lock(state_->mutex);
  Directs& directs = state_->directs_of(kind);
  const auto it = directs.find(address);
  if (it == directs.end() || it->second.serial > newest) return out;
  out.status = {};
  out.rounded = out.requested = it->second.bytes;
  out.tag = it->second.tag;
  out.where = it->second.where;
  out.serial = state_->last_serial.load(std::memory_order_relaxed);
  state_->forget_direct(it, State::Ended::freed);
  return out;
}

std::uint64_t CachingAllocator::newest() const noexcept {
  return state_->last_serial.load(std::memory_order_relaxed);
}

Found CachingAllocator::find_direct(Kind kind, Address address) const noexcept {
  Found found;
  MutexLock lock(state_->mutex);
  static_cast<void>(state_->find_direct(space_of(kind), address, found));
  return found;
}

void CachingAllocator::State::forget_direct(Directs::iterator it, Ended how) {
  const DirectMemory direct = it->second;
  spare = directs_of(direct.where.kind).extract(it);
  if (direct.where.kind == Kind::device) {
    DeviceCounters& counters = device_of(direct.where).counters;
    const PoolClass pool = pool_class(direct.bytes);
    counters.count_free(pool, direct.bytes, direct.bytes);
    if (is_oversize(direct.bytes, limits)) counters.rare().oversize_allocations.decrease(1);
    count_segment_end(counters, pool, direct.bytes);
    counters.rare().num_device_free += how == Ended::freed;
  } else if (is_host(direct.where.kind)) {
    host.num_host_free += how == Ended::freed;
    change_host(host, direct.bytes, [](Stat& stat, std::int64_t n) { stat.decrease(n); });
  }
  if (takes_device_memory(direct.where.kind)) rooms[direct.where.device].direct -= direct.bytes;
  ledger.count_free(direct.where, direct.tag, direct.bytes);
  if (how == Ended::freed) note_lifetime(direct.tag, direct.serial);
}

void CachingAllocator::State::forget_overlapping(Space space, Address address,
                                                 std::uint64_t bytes) {
  Directs& directs = this->directs[static_cast<std::size_t>(space)];
  const Address end = address + (has_ranges(space) ? bytes : 1);
  auto it = directs.lower_bound(address);
  if (has_ranges(space) && it != directs.begin()) {
    const auto below = std::prev(it);
    if (below->first + below->second.bytes > address) it = below;
  }
  while (it != directs.end() && it->first < end) {
    const auto next = std::next(it);
    forget_direct(it, Ended::freed);
    it = next;
  }
}

}  // namespace vramscope
