// A device that seems smaller than it is: what all memory on it, ours and the program's own, may
// add up to.
// SPDX-License-Identifier: Apache-2.0
#include "allocator/state.h"

namespace vramscope {

std::uint64_t CachingAllocator::State::held_bytes(std::uint16_t device) const {
  const RoomCounts& room = rooms[device];
  const DeviceMemory* ours = devices[device].get();
  return room.direct + room.promised + (ours ? ours->reserved + ours->promised : 0);
}

bool CachingAllocator::State::has_room(std::uint16_t device, std::uint64_t bytes) const {
  const std::uint64_t limit = rooms[device].limit;
  if (limit == Limits::kUnlimited) return true;
  const std::uint64_t held = held_bytes(device);
  return held <= limit && bytes <= limit - held;
}

void CachingAllocator::limit_device(std::uint16_t device, std::uint64_t bytes) noexcept {
  MutexLock lock(state_->mutex);
  state_->rooms[device].limit = bytes;
}

bool CachingAllocator::promise(Promise promise) noexcept {
  MutexLock lock(state_->mutex);
  Outcome out;
  if (!state_->has_room(promise.device, promise.bytes)) {
    static_cast<void>(state_->give_up_held(promise.device));
    static_cast<void>(state_->release_idle(promise.device, out));
  }
  if (!state_->has_room(promise.device, promise.bytes)) {
    ++state_->rooms[promise.device].refusals;
    return false;
  }
  state_->rooms[promise.device].promised += promise.bytes;
  return true;
}

void CachingAllocator::end_promise(Promise promise) noexcept {
  MutexLock lock(state_->mutex);
  state_->rooms[promise.device].promised -= promise.bytes;
}

bool CachingAllocator::trim_device(std::uint16_t device) noexcept {
  MutexLock lock(state_->mutex);
  const std::uint64_t held = state_->held_bytes(device);
  Outcome out;
  static_cast<void>(state_->give_up_held(device));
  static_cast<void>(state_->release_idle(device, out));
  return state_->held_bytes(device) < held;
}

DeviceRoom CachingAllocator::room(std::uint16_t device) const noexcept {
  MutexLock lock(state_->mutex);
  const RoomCounts& counts = state_->rooms[device];
  return {.limit = counts.limit, .held = state_->held_bytes(device), .refusals = counts.refusals};
}

}  // namespace vramscope
