// Memory that the program got from the driver itself: adopted, counted, forgotten.
// SPDX-License-Identifier: Apache-2.0
#include <iterator>
#include <new>
#include <utility>

#include "allocator/size_policy.h"
#include "allocator/state.h"

namespace vramscope {
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
  state_->accounts.end_promise(promise.device, promise.bytes);
  if (bytes == 0 || address == 0 || !representable || where.device >= kMaxDevices) return out;
  state_->adopt(where, address, bytes, out);
  return out;
}

void CachingAllocator::State::adopt(Place where, Address address, std::size_t bytes, Outcome& out) {
  forget_overlapping(space_of(where.kind), address, bytes);
  out.status = {Result::failed, 0};
  if (!accounts.prepare(out.tag)) return;
  if (where.kind == Kind::device && !accounts.open_device(where.device)) return;
  out.serial = next_serial();
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
  accounts.direct_came(where, out.tag, bytes, out.serial);
  out.status = {};
  out.source = Source::direct;
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
  accounts.direct_went(direct.where, direct.tag, direct.bytes,
                       how == Ended::freed ? direct.serial : Accounts::kNoLife);
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
