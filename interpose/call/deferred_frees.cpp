// SPDX-License-Identifier: Apache-2.0
#include "interpose/call/deferred_frees.h"

#include <sched.h>

#include <array>

#include "allocator/base/call_time.h"
#include "allocator/base/leaving.h"
#include "allocator/base/thread_buffer.h"
#include "interpose/base/clock.h"
#include "interpose/base/event_of.h"
#include "interpose/base/guard.h"
#include "interpose/loader/real.h"

namespace vramscope::deferred_frees {

namespace {

// Returns how many frees this thread has deferred.
std::size_t count() noexcept { return guard_due.load(std::memory_order_relaxed) & ~kThreadLeaves; }

struct Deferred {
  Function function{};
  Address address = 0;
};

// A signal handler interrupts only its own thread, so the slot that it took is filled when it
// returns.
constexpr std::size_t kMost = 64;
using Frees = std::array<Deferred, kMost>;

// Returns null if this thread has no buffer.
Frees* own_frees() {
  return thread_buffer::part_of<Frees>(thread_buffer::get(), &thread_buffer::Parts::deferred_frees);
}

// Sections under the allocator's lock are short, except for snapshots. A thread that does not get
// it after this many tries holds it itself.
constexpr int kTries = 1000;

// Whether a function can free memory of ours. Other releases end handles and ranges.
bool may_be_ours(Function function) {
  return function == Function::cuMemFree_v2 || function == Function::cuMemFreeAsync ||
         function == Function::cuMemFreeAsync_ptsz || function == Function::cuMemFreeHost;
}

bool is_pinned_free(Function function) { return function == Function::cuMemFreeHost; }

bool is_of_kind(Function function, const Found& found) {
  return is_pinned_free(function) == (found.where.kind == Kind::pinned);
}

bool is_deferred(const Frees& frees, Address address) {
  for (std::size_t i = 0; i < count(); ++i) {
    if (frees[i].address == address) return true;
  }
  return false;
}

// Frees an address that turned out to belong to the driver, which could not be looked up when the
// free was deferred.
void free_directly(Profiler& profiler, const Deferred& free, Event& event) {
  CachingAllocator& allocator = profiler.allocator();
  const Kind kind = is_pinned_free(free.function) ? Kind::pinned : Kind::device;
  const Releases::Underway release(profiler.releases(), {.kind = kind,
                                                         .address = free.address,
                                                         .newest = allocator.newest(),
                                                         .start_ns = event.start_ns});
  const CUresult code = kind == Kind::pinned
                            ? real().cuMemFreeHost(reinterpret_cast<void*>(free.address))
                            : real().cuMemFree_v2(free.address);
  event.failed = code != CUDA_SUCCESS;
  if (event.failed) return;
  const Outcome gone = release.forget(allocator, kind, free.address);
  if (gone.status.ok()) note_outcome(event, MemoryChange::went, gone);
}

void complete_one(Profiler& profiler, const Deferred& free, CachingAllocator::Wait when) {
  Event event;
  event.function = static_cast<std::uint16_t>(free.function);
  event.effect = Effect::release;
  event.address = free.address;
  event.start_ns = call_time_ns = now_ns();
  const Found found = profiler.allocator().find(free.address);
  if (!found.owned) {
    free_directly(profiler, free, event);
  } else if (is_of_kind(free.function, found)) {
    const Outcome outcome = profiler.allocator().free(free.address, when);
    note_outcome(event, MemoryChange::went, outcome);
    event.address = free.address;
    event.failed = !outcome.status.ok();
    event.served = Served::hit;
    event.sync_ns = outcome.wait_ns;
  }
  event.total_ns = elapsed_ns(event.start_ns);
  profiler.recorder().record(event);
}

}  // namespace

Answer defer(Profiler& profiler, Function function, Address address) noexcept {
  const CachingAllocator& allocator = profiler.allocator();
  if (!may_be_ours(function) || !allocator.may_own(address)) return Answer::foreign;
  Found found;
  bool is_known = false;
  for (int i = 0; i < kTries && !is_known; ++i) is_known = allocator.try_find(address, found);
  if (is_known && !found.owned) return Answer::foreign;
  const bool is_live_block = found.live && found.block.address == address;
  if (is_known && !(is_live_block && is_of_kind(function, found))) return Answer::invalid;
  Frees* const frees = own_frees();
  if (frees != nullptr && is_deferred(*frees, address)) return Answer::invalid;
  const std::size_t due =
      frees != nullptr ? guard_due.fetch_add(1, std::memory_order_relaxed) : kMost;
  const std::size_t slot = due & ~kThreadLeaves;
  if (slot < kMost) {
    (*frees)[slot] = {function, address};
    return Answer::deferred;
  }
  // The block stays live for ever, which is better than a wrong answer.
  if (frees != nullptr) guard_due.fetch_sub(1, std::memory_order_relaxed);
  profiler.recorder().count_unrecorded();
  return Answer::deferred;
}

void complete(Profiler& profiler, CachingAllocator::Wait when) noexcept {
  if (count() == 0) return;
  if (leaving::is_on()) when = CachingAllocator::Wait::later;  // the driver must not be called
  if (profiler.waits_at_reuse())
    when = CachingAllocator::Wait::now;  // with at-reuse this does not wait
  Frees* const frees = own_frees();      // exists, since something was deferred
  std::size_t done = 0;
  for (std::size_t due = guard_due.load(); done < (due & ~kThreadLeaves); due = guard_due.load()) {
    complete_one(profiler, (*frees)[done], when);
    (*frees)[done++].address = 0;
    // Empties the list when everything is done, unless a handler has just added to it.
    const bool is_last = done == (due & ~kThreadLeaves);
    if (is_last && guard_due.compare_exchange_strong(due, due & kThreadLeaves)) return;
  }
}

namespace {

bool allocator_is_open() noexcept {
  Profiler* const profiler = Profiler::active();
  Found found;
  for (int i = 0; profiler != nullptr && i < kTries; ++i) {
    if (profiler->allocator().try_find(0, found)) return true;
    sched_yield();
  }
  return profiler == nullptr;
}

void complete_at_end_of_guard(bool may_wait) noexcept {
  using Wait = CachingAllocator::Wait;
  Profiler* const profiler = count() != 0 ? Profiler::active() : nullptr;
  if (profiler != nullptr) deferred_frees::complete(*profiler, may_wait ? Wait::now : Wait::later);
}

constexpr GuardCallbacks kCallbacks = {.allocator_is_open = allocator_is_open,
                                       .complete_deferred_frees = complete_at_end_of_guard};

}  // namespace

void register_with_guard() noexcept { set_guard_callbacks(kCallbacks); }

}  // namespace vramscope::deferred_frees
