// Only this file turns an outcome of the allocator into a part of an event.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "allocator/base/call_time.h"
#include "allocator/caching_allocator.h"
#include "reporter/base/event.h"

namespace vramscope {

// Enters the memory of `outcome` in the event, and its change if the outcome is a success.
inline void note_outcome(Event& event, MemoryChange change, const Outcome& outcome) noexcept {
  event.change = outcome.status.ok() ? change : MemoryChange::none;
  event.place = outcome.where;
  event.tag = outcome.tag;
  event.address = outcome.address;
  event.bytes = outcome.requested;
  event.serial = outcome.serial;
}

// Returns the event of a side effect of the current call: a change of other memory than the call's
// own.
[[nodiscard]] inline Event event_of(MemoryChange change, const Outcome& outcome) noexcept {
  Event event;
  event.start_ns = call_time_ns;
  note_outcome(event, change, outcome);
  return event;
}

// Receives each side effect from code that changes memory and does not know the recorder. Threads:
// any.
struct SideEffectCallback {
  void (*function)(void* context, const Event& event) = nullptr;
  void* context = nullptr;

  void operator()(MemoryChange change, const Outcome& outcome) const noexcept {
    if (function != nullptr && outcome.status.ok()) function(context, event_of(change, outcome));
  }
};

}  // namespace vramscope
