// Plays steps of traces on allocators: see policies.h.
// SPDX-License-Identifier: Apache-2.0
#include "test/bench/policies.h"

#include <time.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "allocator/caching_allocator.h"
#include "test/bench/endless_backend.h"
#include "test/simulator/device/simulated_backend.h"
#include "test/simulator/device/simulated_device.h"

namespace vramscope::bench {
namespace {

const PolicyRow kPolicies[] = {
    {"native-safe", Serving::cache, {.policy = Policy::native_safe}},
    {"pytorch", Serving::cache, {}},
    {"pytorch, expandable_segments", Serving::cache, {.expandable_segments = true}},
    {"pytorch, growing_segments", Serving::cache, {.growing_segments = true}},
    {"mode dedicated", Serving::dedicated, {.policy = Policy::native_safe}},
    {"no cache", Serving::driver, {.policy = Policy::native_safe}},
};

bool is_served(Kind kind) { return kind == Kind::device || kind == Kind::pinned; }

template <class Both>
auto& of_kind(Both& both, Kind kind) {
  return kind == Kind::pinned ? both.pinned : both.device;
}

// Counts the calls that a driver would get, and what it has given at most.
class CountingBackend final : public Backend {
 public:
  explicit CountingBackend(std::uint64_t device_bytes)
      : device_({.capacity = device_bytes, .reuse_addresses = true}) {}

  Grant reserve(Place where, std::size_t bytes) noexcept override {
    ++of_kind(uses, where.kind).driver_calls;
    if (where.kind != Kind::pinned) return noting_peak(driver_.reserve(where, bytes));
    const Grant grant = host_driver_.reserve(where, simulator::round_up(bytes, kHostPage));
    uses.pinned.peak_bytes = std::max(uses.pinned.peak_bytes, host_.counters().live_bytes);
    return grant;
  }
  Reply release(Place where, Address segment) noexcept override {
    ++of_kind(uses, where.kind).driver_calls;
    return (where.kind == Kind::pinned ? host_driver_ : driver_).release(where, segment);
  }
  Grant reserve_addresses(Place, std::uint64_t bytes, std::uint64_t) noexcept override {
    return {.status = {}, .address = device_.reserve_addresses(bytes)};
  }
  // Each page is made and mapped, and access to all of them is given at once.
  Grant map(Place, Address address, std::uint64_t bytes, std::uint64_t page) noexcept override {
    uses.device.driver_calls += 2 * (bytes / page) + 1;
    if (!device_.keep(bytes)) return {.status = {Result::out_of_memory, simulator::kOutOfMemory}};
    return noting_peak({.status = {}, .address = address});
  }
  Reply unmap(Place, Address, std::uint64_t bytes, std::uint64_t page) noexcept override {
    uses.device.driver_calls += 2 * (bytes / page);
    device_.keep_less(bytes);
    return {};
  }
  Reply wait(Place) noexcept override { return {}; }
  Reply probe(Place) noexcept override { return {}; }
  bool may_wait(Place) noexcept override { return true; }
  std::uint64_t total_bytes(Place where) noexcept override {
    return where.kind == Kind::pinned ? host_.capacity() : device_.capacity();
  }

  Uses uses;

 private:
  static constexpr std::uint64_t kHostPage = simulator::kHostPage;
  static constexpr std::uint64_t kHostBytes = std::uint64_t{1} << 40;

  Grant noting_peak(Grant grant) {
    const std::uint64_t used = device_.capacity() - device_.free_bytes();
    uses.device.peak_bytes = std::max(uses.device.peak_bytes, used);
    return grant;
  }

  simulator::SimulatedDevice device_;
  simulator::SimulatedDevice host_{{.capacity = kHostBytes}};
  simulator::SimulatedBackend driver_{device_};
  simulator::SimulatedBackend host_driver_{host_};
};

// A program that does what a trace says.
class Player {
 public:
  Player(Backend& backend, const PolicyRow& policy, std::uint32_t slots)
      : backend_(backend),
        serving_(policy.serving),
        allocator_(backend, policy.limits),
        held_(slots) {}

  void pass(const TraceSteps& trace) {
    for (const TraceStep& step : trace.steps) {
      if (!is_served(step.place.kind)) continue;
      if (step.what == TraceStep::What::came) {
        take(step);
      } else {
        give_back(step.slot);
      }
    }
  }
  // What the trace never freed.
  void end() {
    for (std::uint32_t slot = 0; slot < held_.size(); ++slot) give_back(slot);
  }

  Uses uses;  // hits and refusals

 private:
  struct Held {
    Address address = 0;  // 0: nothing
    Place place;
  };

  [[nodiscard]] bool is_by_driver(Kind kind) const {
    return serving_ == Serving::driver || (serving_ == Serving::dedicated && kind == Kind::pinned);
  }

  void take(const TraceStep& step) {
    Held& held = held_[step.slot];
    held.place = step.place;
    if (is_by_driver(step.place.kind)) {
      const Grant grant = backend_.reserve(step.place, step.bytes);
      held.address = grant.address;
      if (!grant.status.ok()) return refuse(step.place.kind);
      static_cast<void>(allocator_.adopt(step.place, grant.address, step.bytes, 0));
      return;
    }
    const bool is_dedicated = serving_ == Serving::dedicated;
    const Outcome out = allocator_.allocate(
        {.where = step.place, .bytes = step.bytes, .tag = 0, .dedicated = is_dedicated});
    held.address = out.address;
    if (!out.status.ok()) return refuse(step.place.kind);
    of_kind(uses, step.place.kind).hits += out.source == Source::hit;
  }
  void refuse(Kind kind) { ++of_kind(uses, kind).refused; }

  void give_back(std::uint32_t slot) {
    const Held held = std::exchange(held_[slot], {});
    if (held.address == 0) return;
    if (is_by_driver(held.place.kind)) {
      static_cast<void>(allocator_.forget(held.address));
      static_cast<void>(backend_.release(held.place, held.address));
    } else {
      static_cast<void>(allocator_.free(held.address));
    }
  }

  Backend& backend_;
  const Serving serving_;
  CachingAllocator allocator_;
  std::vector<Held> held_;
};

double ran_ns() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

}  // namespace

std::span<const PolicyRow> policies() { return kPolicies; }

Needs needs_of(const TraceSteps& trace) {
  Needs needs;
  std::uint64_t device_bytes = 0;
  std::uint64_t pinned_bytes = 0;
  for (const TraceStep& step : trace.steps) {
    const bool came = step.what == TraceStep::What::came;
    if (!is_served(step.place.kind)) {
      needs.left_out += came;
      continue;
    }
    Needed& needed = of_kind(needs, step.place.kind);
    std::uint64_t& live = step.place.kind == Kind::pinned ? pinned_bytes : device_bytes;
    live += came ? step.bytes : 0 - step.bytes;
    needed.pairs += came;
    needed.peak_bytes = std::max(needed.peak_bytes, live);
  }
  return needs;
}

Uses uses_of(const TraceSteps& trace, const PolicyRow& policy, std::uint64_t device_bytes) {
  CountingBackend backend(device_bytes);
  Player player(backend, policy, trace.slots);
  player.pass(trace);
  Uses uses = backend.uses;
  for (const Kind kind : {Kind::device, Kind::pinned}) {
    of_kind(uses, kind).hits = of_kind(player.uses, kind).hits;
    of_kind(uses, kind).refused = of_kind(player.uses, kind).refused;
  }
  return uses;
}

double ns_per_pair(const TraceSteps& trace, const PolicyRow& policy, std::uint64_t device_bytes) {
  constexpr std::uint64_t kLeastPairs = 20000;
  const Needs needs = needs_of(trace);
  const std::uint64_t pairs = needs.device.pairs + needs.pinned.pairs;
  if (pairs == 0) return 0;
  EndlessBackend backend(device_bytes);
  Player player(backend, policy, trace.slots);
  player.pass(trace);
  player.end();
  std::uint64_t played = 0;
  const double start = ran_ns();
  while (played < kLeastPairs) {
    player.pass(trace);
    player.end();
    played += pairs;
  }
  return (ran_ns() - start) / static_cast<double>(played);
}

}  // namespace vramscope::bench
