// Frees inside our own calls.
// SPDX-License-Identifier: Apache-2.0
#include "interpose/call/deferred_frees.h"

#include <array>
#include <atomic>

#include "interpose/ground/clock.h"
#include "interpose/loader/real.h"

namespace vramscope::nested {

constinit thread_local std::atomic<std::size_t> count{0};

namespace {

struct Kept {
  Function function{};
  Address address = 0;
};

// A signal handler interrupts its own thread only: a slot that it took is filled when it returns.
constexpr std::size_t kMost = 64;
constinit thread_local std::array<Kept, kMost> frees{};

// Sections under the allocator's lock are short: who does not get it after so many tries holds it
// himself.
constexpr int kTries = 1000;

// What may free memory of ours; other releases are of handles and ranges.
bool may_be_ours(Function function) {
  return function == Function::cuMemFree_v2 || function == Function::cuMemFreeAsync ||
         function == Function::cuMemFreeAsync_ptsz || function == Function::cuMemFreeHost;
}

bool is_pinned_free(Function function) { return function == Function::cuMemFreeHost; }

bool is_of_kind(Function function, const Found& found) {
  return is_pinned_free(function) == (found.where.kind == Kind::pinned);
}

bool is_kept(Address address) {
  for (std::size_t i = 0; i < count.load(std::memory_order_relaxed); ++i) {
    if (frees[i].address == address) return true;
  }
  return false;
}

// An address that could not be looked up when it was kept may turn out to be the driver's.
CUresult free_directly(const Kept& kept) {
  if (is_pinned_free(kept.function)) {
    return real().cuMemFreeHost(reinterpret_cast<void*>(kept.address));
  }
  return real().cuMemFree_v2(kept.address);
}

void complete(Profiler& profiler, const Kept& kept, CachingAllocator::Wait when) {
  Event event;
  event.function = static_cast<std::uint16_t>(kept.function);
  event.effect = Effect::release;
  event.address = kept.address;
  event.start_ns = now_ns();
  const Found found = profiler.allocator().find(kept.address);
  if (!found.owned) {
    event.failed = free_directly(kept) != CUDA_SUCCESS;
  } else if (is_of_kind(kept.function, found)) {
    const Outcome outcome = profiler.allocator().free(kept.address, when);
    event.failed = !outcome.status.ok();
    event.change = outcome.status.ok() ? MemoryChange::went : MemoryChange::none;
    event.serial = outcome.serial;
    event.served = Served::hit;
    event.place = outcome.where;
    event.bytes = outcome.requested;
    event.tag = outcome.tag;
    event.sync_ns = outcome.wait_ns;
  }
  event.total_ns = elapsed_ns(event.start_ns);
  profiler.recorder().record(event);
}

}  // namespace

Answer keep(Profiler& profiler, Function function, Address address) noexcept {
  const CachingAllocator& allocator = profiler.allocator();
  if (!may_be_ours(function) || !allocator.may_own(address)) return Answer::foreign;
  Found found;
  bool is_known = false;
  for (int i = 0; i < kTries && !is_known; ++i) is_known = allocator.try_find(address, found);
  if (is_known && !found.owned) return Answer::foreign;
  const bool is_live_block = found.live && found.block.address == address;
  if (is_known && !(is_live_block && is_of_kind(function, found))) return Answer::invalid;
  if (is_kept(address)) return Answer::invalid;
  const std::size_t slot = count.fetch_add(1, std::memory_order_relaxed);
  if (slot >= kMost) {  // the block stays live for ever: better than a wrong answer
    count.fetch_sub(1, std::memory_order_relaxed);
    profiler.recorder().count_unrecorded();
    return Answer::kept;
  }
  frees[slot] = {function, address};
  return Answer::kept;
}

void complete(Profiler& profiler, CachingAllocator::Wait when) noexcept {
  if (profiler.waits_at_reuse()) when = CachingAllocator::Wait::now;  // which does not wait then
  std::size_t done = 0;
  for (std::size_t kept = count.load(); done < kept; kept = count.load()) {
    complete(profiler, frees[done], when);
    frees[done++].address = 0;
    // Empty when everything is done, unless a handler has just added to it.
    if (done == kept && count.compare_exchange_strong(kept, 0)) return;
  }
}

}  // namespace vramscope::nested
