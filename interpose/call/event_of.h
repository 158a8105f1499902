// What a call does to memory besides what its own event tells.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "allocator/caching_allocator.h"
#include "allocator/ground/call_time.h"
#include "reporter/record/event.h"

namespace vramscope {

// The event of what `outcome` tells: memory that came or went, during the present call.
[[nodiscard]] inline Event beside(MemoryChange change, const Outcome& outcome) noexcept {
  Event event;
  event.change = change;
  event.place = outcome.where;
  event.tag = outcome.tag;
  event.address = outcome.address;
  event.bytes = outcome.requested;
  event.serial = outcome.serial;
  event.start_ns = call_time_ns;
  return event;
}

// Who is told, where a recorder is not known. Threads: any.
struct BesidesListener {
  void (*told)(void* who, const Event& event) = nullptr;
  void* who = nullptr;

  void operator()(MemoryChange change, const Outcome& outcome) const noexcept {
    if (told != nullptr && outcome.status.ok()) told(who, beside(change, outcome));
  }
};

}  // namespace vramscope
