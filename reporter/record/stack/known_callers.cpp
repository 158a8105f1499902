// Keeps a thread's known callers. An entry is replaced by another caller for the same place.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/record/stack/known_callers.h"

#include <atomic>
#include <cstring>

#include "allocator/base/thread_buffer.h"

namespace vramscope {

KnownCallers* KnownCallers::of_thread(const void* recorder) noexcept {
  auto* const known = thread_buffer::part_of<KnownCallers>(thread_buffer::get(),
                                                           &thread_buffer::Parts::known_callers);
  if (known != nullptr && known->recorder_ != recorder) [[unlikely]] {
    std::memset(static_cast<void*>(known), 0, sizeof *known);
    known->recorder_ = recorder;
  }
  return known;
}

void KnownCallers::learn(std::uintptr_t caller, const Rest& rest, Tag tag) noexcept {
  Known& known = known_[place_of(caller, rest)];
  known.caller = 0;
  std::atomic_signal_fence(std::memory_order_seq_cst);  // a signal handler may leave by longjmp
  known.rest = rest;
  known.tag = tag;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  known.caller = caller;
}

KnownCallers::IsOwner KnownCallers::is_owner(std::uintptr_t caller,
                                             std::uint32_t epoch) const noexcept {
  const Asked& asked = asked_[caller % kAsked];
  if (asked.caller != caller || asked.epoch != epoch) return IsOwner::unasked;
  return asked.is_owner ? IsOwner::yes : IsOwner::no;
}

void KnownCallers::note_owner(std::uintptr_t caller, std::uint32_t epoch, bool is_owner) noexcept {
  Asked& asked = asked_[caller % kAsked];
  asked.caller = 0;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  asked.epoch = epoch;
  asked.is_owner = is_owner;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  asked.caller = caller;
}

}  // namespace vramscope
