// SPDX-License-Identifier: Apache-2.0
#include "allocator/watch.h"

#include <atomic>

#include "allocator/books/watching.h"
#include "allocator/state.h"

namespace vramscope {

CachingAllocator::Watch::Watch(CachingAllocator& allocator, std::uint16_t device) noexcept
    : allocator_(allocator) {
  State& state = *allocator_.state_;
  watch_.device = device;
  const ScopedLock section(state);
  const std::uint64_t newest = state.last_serial.load(std::memory_order_relaxed);
  Accounts::Watching(state.accounts).begin(watch_, newest);
}

CachingAllocator::Watch::~Watch() {
  State& state = *allocator_.state_;
  const ScopedLock section(state);
  Accounts::Watching(state.accounts).end(watch_);
}

DeviceWatch CachingAllocator::Watch::read() const noexcept {
  const ScopedLock section(*allocator_.state_);
  return watch_;
}

}  // namespace vramscope
