// A device that seems smaller than it is: what all memory on it, ours and the program's own, may
// add up to.
// SPDX-License-Identifier: Apache-2.0
#include "allocator/state.h"

namespace vramscope {

void CachingAllocator::set_capacity(std::uint16_t device, std::uint64_t bytes) noexcept {
  MutexLock lock(state_->mutex);
  state_->accounts.set_capacity(device, bytes);
}

bool CachingAllocator::promise(Promise promise) noexcept {
  MutexLock lock(state_->mutex);
  Outcome out;
  if (!state_->accounts.has_capacity(promise.device, promise.bytes)) {
    static_cast<void>(state_->end_quarantine(promise.device));
    static_cast<void>(state_->release_idle(promise.device, out));
  }
  if (!state_->accounts.has_capacity(promise.device, promise.bytes)) {
    state_->accounts.count_refusal(promise.device);
    return false;
  }
  state_->accounts.begin_promise(promise.device, promise.bytes);
  return true;
}

void CachingAllocator::end_promise(Promise promise) noexcept {
  MutexLock lock(state_->mutex);
  state_->accounts.end_promise(promise.device, promise.bytes);
}

bool CachingAllocator::trim_device(std::uint16_t device) noexcept {
  MutexLock lock(state_->mutex);
  const std::uint64_t held = state_->accounts.held_bytes(device);
  Outcome out;
  static_cast<void>(state_->end_quarantine(device));
  static_cast<void>(state_->release_idle(device, out));
  return state_->accounts.held_bytes(device) < held;
}

DeviceCapacity CachingAllocator::capacity(std::uint16_t device) const noexcept {
  MutexLock lock(state_->mutex);
  return state_->accounts.capacity(device);
}

}  // namespace vramscope
