// Limits all memory on a device, ours and the program's own, to a capacity.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "allocator/ladder.h"
#include "allocator/state.h"

namespace vramscope {

void note_grant(const Accounts& accounts, Place where, const Grant& grant, Outcome& out) {
  out.backend_ns += grant.ns;
  out.status = grant.status;
  out.has_sample = grant.total_bytes != 0;
  if (!out.has_sample) return;
  const std::uint64_t used = grant.total_bytes - std::min(grant.free_bytes, grant.total_bytes);
  const DeviceCapacity now = accounts.capacities().of(where.device);
  const std::uint64_t held = now.held + now.rounding;
  out.unrecorded_bytes = used - std::min(held, used);  // managed pages may be on the host
}

bool exceeds_limit(const Accounts& accounts, Place where, std::uint64_t bytes, Outcome& out) {
  out.by_limit = !accounts.capacities().has_room(where, bytes);
  if (out.by_limit) out.counted_bytes = accounts.capacities().of(where.device).counted();
  return out.by_limit;
}

void CachingAllocator::set_capacity(std::uint16_t device, std::optional<std::uint64_t> bytes,
                                    std::uint64_t kept_by_driver, Memory memory) noexcept {
  const ScopedLock section(*state_);
  Capacities& capacities = state_->accounts.capacities();
  capacities.set(device, bytes.value_or(capacities.of(device).limit), kept_by_driver);
  if (memory == Memory::is_hosts) capacities.share_with_host(device);
}

bool CachingAllocator::promise(Promise promise, std::uint64_t* counted_bytes) noexcept {
  const Place where{.kind = promise.kind, .device = promise.device};
  const ScopedLock section(*state_);
  if (!state_->accounts.capacities().has_room(where, promise.bytes)) {
    Ladder::make_room(*state_, promise.device);
  }
  if (!state_->accounts.capacities().has_room(where, promise.bytes)) {
    state_->accounts.capacities().refuse(promise.device);
    if (counted_bytes != nullptr) {
      *counted_bytes = state_->accounts.capacities().of(promise.device).counted();
    }
    return false;
  }
  state_->accounts.capacities().promise(where, promise.bytes);
  return true;
}

void CachingAllocator::end_promise(Promise promise, Why why) noexcept {
  const ScopedLock section(*state_);
  Accounts& accounts = state_->accounts;
  accounts.capacities().end_promise({.kind = promise.kind, .device = promise.device},
                                    promise.bytes);
  const bool counts = why == Why::refused && promise.kind == Kind::device;
  if (counts && promise.device < kMaxDevices && accounts.open_device(promise.device)) {
    accounts.note(Accounts::Event::out_of_memory, promise.device);
  }
}

bool CachingAllocator::trim_device(std::uint16_t device) noexcept {
  const ScopedLock section(*state_);
  return Ladder::make_room(*state_, device);
}

DeviceCapacity CachingAllocator::capacity(std::uint16_t device) const {
  const ScopedLock section(*state_);
  return state_->accounts.capacities().of(device);
}

}  // namespace vramscope
