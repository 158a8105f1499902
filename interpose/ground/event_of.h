// An outcome of the allocator becomes part of an event here, and nowhere else.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "allocator/caching_allocator.h"
#include "allocator/ground/call_time.h"
#include "reporter/ground/event.h"

namespace vramscope {

// The event tells of the memory that `outcome` is about: that it came or went, if all went well.
inline void note_outcome(Event& event, MemoryChange change, const Outcome& outcome) noexcept {
  event.change = outcome.status.ok() ? change : MemoryChange::none;
  event.place = outcome.where;
  event.tag = outcome.tag;
  event.address = outcome.address;
  event.bytes = outcome.requested;
  event.serial = outcome.serial;
}

// A side effect of the present call: the event of memory that it is not itself about.
[[nodiscard]] inline Event event_of(MemoryChange change, const Outcome& outcome) noexcept {
  Event event;
  event.start_ns = call_time_ns;
  note_outcome(event, change, outcome);
  return event;
}

// Called with each side effect that has happened, for those who change memory and do not know the
// recorder. Threads: any.
struct SideEffectCallback {
  void (*function)(void* context, const Event& event) = nullptr;
  void* context = nullptr;

  void operator()(MemoryChange change, const Outcome& outcome) const noexcept {
    if (function != nullptr && outcome.status.ok()) function(context, event_of(change, outcome));
  }
};

}  // namespace vramscope
