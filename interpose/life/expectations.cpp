// SPDX-License-Identifier: Apache-2.0
#include "interpose/life/expectations.h"

#include <sched.h>

#include <new>

#include "interpose/driver/profiler.h"

namespace vramscope {
namespace {

constinit Expectations all;

}  // namespace

Expectations& expectations() noexcept { return all; }

std::uint64_t Expectations::begin(std::uint16_t device, const ExpectedUse& expected) noexcept {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    Slot& slot = slots_[i];
    const std::uint64_t uses = slot.state.load() / kStages;
    if (!change(slot, state_of(uses, Stage::unused), state_of(uses + 1, Stage::busy))) continue;
    slot.device = device;
    slot.expected = expected;
    slot.state.store(state_of(uses + 1, Stage::early));
    // The profiler may have become active since its own attach() looked here.
    if (Profiler* const profiler = Profiler::active(); profiler != nullptr) attach(slot, *profiler);
    return (uses + 1) * kMostOpen + i;
  }
  return 0;
}

std::optional<Expectations::Ended> Expectations::end(std::uint64_t number) noexcept {
  constexpr int kTries = 10'000;  // another thread attaches it: that takes microseconds
  Slot& slot = slots_[number % kMostOpen];
  const std::uint64_t uses = number / kMostOpen;
  for (int i = 0; i < kTries; ++i) {
    const std::uint64_t seen = slot.state.load();
    if (seen / kStages != uses || seen == state_of(uses, Stage::unused)) return std::nullopt;
    const bool is_busy = seen == state_of(uses, Stage::busy);
    if (is_busy || !change(slot, seen, state_of(uses, Stage::busy))) {
      sched_yield();
      continue;
    }
    Ended ended{.expected = slot.expected, .used = {.device = slot.device}};
    if (seen == state_of(uses, Stage::measuring)) ended.used = end_watch(slot);
    slot.state.store(state_of(uses, Stage::unused));
    return ended;
  }
  return std::nullopt;
}

void Expectations::attach(Profiler& profiler) noexcept {
  for (Slot& slot : slots_) attach(slot, profiler);
}

void Expectations::attach(Slot& slot, Profiler& profiler) noexcept {
  const std::uint64_t uses = slot.state.load() / kStages;
  if (!change(slot, state_of(uses, Stage::early), state_of(uses, Stage::busy))) return;
  new (slot.watch.data()) CachingAllocator::Watch(profiler.allocator(), slot.device);
  slot.state.store(state_of(uses, Stage::measuring));
}

// A forked child has no profiler, and the lock of its allocator may be taken for ever.
DeviceWatch Expectations::end_watch(Slot& slot) noexcept {
  using Watch = CachingAllocator::Watch;
  Watch* const watch = std::launder(reinterpret_cast<Watch*>(slot.watch.data()));
  if (Profiler::active() == nullptr) return {.device = slot.device};
  const DeviceWatch used = watch->read();
  watch->~Watch();
  return used;
}

}  // namespace vramscope
