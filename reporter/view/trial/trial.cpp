// Plays the steps of a trace.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/trial/trial.h"

#include <algorithm>
#include <utility>

#include "allocator/base/driver_pages.h"
#include "allocator/caching_allocator.h"

namespace vramscope {
namespace {

using What = TrialStep::What;

// Steps between two updates of the progress.
constexpr std::uint64_t kStepsAtOnce = std::uint64_t{1} << 16;

// A program that does what the trace says. Threads: one.
class Player {
 public:
  Player(const TrialSteps& trace, const TrialSettings& settings)
      : trace_(trace),
        settings_(settings),
        devices_({.capacity = settings.capacity,
                  .host_bytes = settings.host_bytes,
                  .costs = settings.costs},
                 trace.segments),
        allocator_(devices_, settings.limits),
        held_(trace.slots) {
    for (std::size_t i = 0; i < kMaxDevices; ++i) {
      limit(static_cast<std::uint16_t>(i), 0);
    }
  }

  // Plays steps until `end`, or until one is refused that was served in the recording.
  void play(std::size_t& at, std::size_t end) {
    for (; at < end && !result_.refusal; ++at) {
      const TrialStep& step = trace_.steps[at];
      if (step.what == What::allocated) [[likely]] {
        allocate(step, at);
      } else if (step.what == What::freed) [[likely]] {
        free(step, CachingAllocator::Wait::now);
      } else {
        otherwise(step, at);
      }
    }
  }
  // What TrialSteps::others is to be.
  [[nodiscard]] const std::vector<std::uint64_t>& others() const { return others_; }
  // Steps of requests that were refused in the recording and are served.
  [[nodiscard]] const std::vector<std::size_t>& served() const { return served_; }
  [[nodiscard]] bool is_over() const { return result_.refusal.has_value(); }

  // Since the last call.
  TrialPeaks take_peaks() {
    TrialPeaks peaks;
    for (const std::uint16_t device : trace_.devices) {
      Requested& requested = requested_[device];
      peaks.requested_bytes = std::max(peaks.requested_bytes, requested.most);
      peaks.reserved_bytes = std::max(peaks.reserved_bytes, devices_.use(device).most_given);
      requested.most = requested.now;
    }
    devices_.restart_peaks();
    return peaks;
  }

  TrialResult finish() {
    for (const std::uint16_t device : trace_.devices) {
      TrialDevice one{.device = device, .statistics = {}};
      one.peak_reserved_bytes = devices_.use(device).most_given;
      one.peak_used_bytes = devices_.use(device).most_used;
      one.peak_requested_bytes = requested_[device].most;
      one.requested_at_peak_bytes = requested_[device].at_peak;
      one.is_counted = allocator_.read_statistics(device, one.statistics);
      result_.devices.push_back(one);
    }
    HostStatistics host;
    if (allocator_.read_host_statistics(host)) result_.host = host;
    result_.driver_calls = devices_.calls();
    result_.driver_ns = devices_.calls_ns();
    result_.is_as_recorded = devices_.is_all_as_recorded();
    return std::move(result_);
  }

 private:
  // What is in a slot.
  struct Held {
    Address address = 0;  // 0: nothing
    std::uint64_t bytes = 0;
    std::uint16_t place = 0;
    bool by_driver = false;
  };
  struct Requested {
    std::uint64_t now = 0;
    std::uint64_t most = 0;
    std::uint64_t at_peak = 0;  // when the device had given most
  };

  [[nodiscard]] bool is_ours(Kind kind) const {
    if (settings_.serving == Serving::driver) return false;
    return kind == Kind::device || settings_.serving == Serving::cache;
  }

  void limit(std::uint16_t device, std::uint64_t kept) {
    const std::uint64_t bytes = settings_.memory_limit[device];
    if (bytes != 0) allocator_.set_capacity(device, bytes, kept);
  }

  void hold(const TrialStep& step, Place where, Address address, bool by_driver) {
    held_[step.slot] = {address, step.bytes, step.place, by_driver};
    if (!takes_room(where.kind)) return;
    Requested& requested = requested_[where.device];
    requested.now += step.bytes;
    requested.most = std::max(requested.most, requested.now);
    if (devices_.new_peak) [[unlikely]] {
      Requested& peak = requested_[*devices_.new_peak];
      peak.at_peak = peak.now;
      devices_.new_peak.reset();
    }
  }
  Held let_go(const TrialStep& step) {
    const Held held = std::exchange(held_[step.slot], {});
    const Place where = trace_.places[held.place];
    if (held.address != 0 && takes_room(where.kind)) {
      requested_[where.device].now -= held.bytes;
    }
    return held;
  }

  void allocate(const TrialStep& step, std::size_t at) {
    const Place where = trace_.places[step.place];
    if (!is_ours(where.kind)) return take(step, at);
    const Outcome out = ask(step, where);
    if (!out.status.ok()) [[unlikely]]
      return refuse(step, at);
    hold(step, where, out.address, false);
  }
  Outcome ask(const TrialStep& step, Place where) {
    const bool is_dedicated = step.is_dedicated || (settings_.serving == Serving::dedicated &&
                                                    where.kind == Kind::device);
    return allocator_.allocate(
        {.where = where, .bytes = step.bytes, .tag = 0, .dedicated = is_dedicated});
  }

  // Memory from the driver, for which idle segments go back.
  [[nodiscard]] std::optional<Address> ask_driver(const TrialStep& step, Place where,
                                                  Promise& promise) {
    const bool is_limited = settings_.memory_limit[where.device] != 0 && takes_room(where.kind);
    if (is_limited) {
      promise = {.device = where.device, .bytes = step.bytes, .kind = where.kind};
      if (!allocator_.promise(promise)) return std::nullopt;
    }
    std::optional<Address> found = devices_.take(where, step.bytes);
    if (!found && allocator_.trim_device(where.device)) found = devices_.take(where, step.bytes);
    if (found) return found;
    using Why = CachingAllocator::Why;
    const bool counts = step.what == What::refused && where.kind == Kind::device;
    promise.device = where.device;
    if (is_limited || counts) {
      allocator_.end_promise(promise, counts ? Why::refused : Why::unused);
    }
    return std::nullopt;
  }
  void take(const TrialStep& step, std::size_t at) {
    const Place where = trace_.places[step.place];
    Promise promise;
    const std::optional<Address> found = ask_driver(step, where, promise);
    if (!found) return refuse(step, at);
    static_cast<void>(allocator_.adopt(where, *found, step.bytes, 0, promise));
    hold(step, where, *found, true);
  }

  void free(const TrialStep& step, CachingAllocator::Wait when) {
    const Held held = let_go(step);
    if (held.address == 0) [[unlikely]]
      return;
    if (held.by_driver) return give(held);
    if (settings_.limits.reuse == ReuseTime::at_reuse) when = CachingAllocator::Wait::now;
    static_cast<void>(allocator_.free(held.address, when));
  }
  void give(const Held& held) {
    const Place where = trace_.places[held.place];
    static_cast<void>(allocator_.forget(where.kind, held.address));
    devices_.give(where, held.address, held.bytes);
  }

  void otherwise(const TrialStep& step, std::size_t at) {
    switch (step.what) {
      case What::freed_in_order:
        return free(step, CachingAllocator::Wait::later);
      case What::came:
        return take(step, at);
      case What::went:
        return free(step, CachingAllocator::Wait::now);
      case What::refused:
      case What::refused_by_driver:
        return ask_again(step, at);
      case What::place_ended:
        return end_place(step);
      case What::capture_began:
        ++devices_.captures;
        return;
      case What::capture_ended:
        devices_.captures -= devices_.captures > 0 ? 1 : 0;
        return;
      case What::use_changed:
        return change_use(step, at);
      case What::allocated:
      case What::freed:
      case What::nothing:
        return;
    }
  }

  // Of a request that was refused in the recording: if it is served now, the program would have
  // gone on otherwise, which nobody knows.
  void ask_again(const TrialStep& step, std::size_t at) {
    const Place where = trace_.places[step.place];
    if (step.what == What::refused && is_ours(where.kind)) {
      const Outcome out = ask(step, where);
      note_again(out.status.ok(), at);
      if (out.status.ok()) static_cast<void>(allocator_.free(out.address));
      return;
    }
    Promise promise;
    const std::optional<Address> found = ask_driver(step, where, promise);
    note_again(found.has_value(), at);
    if (!found) return;
    if (promise.bytes != 0) allocator_.end_promise(promise);
    devices_.give(where, *found, step.bytes);
  }

  void note_again(bool is_served, std::size_t at) {
    ++(is_served ? result_.served_refused : result_.refusals);
    if (is_served) served_.push_back(at);
  }

  void end_place(const TrialStep& step) {
    const Place where = trace_.places[step.place];
    for (Held& held : held_) {
      if (held.address == 0 || held.place != step.place) continue;
      if (takes_room(where.kind)) requested_[where.device].now -= held.bytes;
      if (held.by_driver) devices_.give(where, held.address, held.bytes);
      held = {};
    }
    allocator_.forget_place(where);
    devices_.end_place(where);
  }

  std::uint64_t others_of(std::uint32_t use) {
    if (use < trace_.others.size()) return trace_.others[use];
    const UnrecordedChange& change = trace_.uses[use];
    const std::uint64_t waste = devices_.waste(change.device);
    const std::uint64_t others = change.unrecorded_bytes - std::min(waste, change.unrecorded_bytes);
    others_.push_back(others);
    return others;
  }

  void change_use(const TrialStep& step, std::size_t at) {
    const UnrecordedChange& use = trace_.uses[step.slot];
    const bool has_room = devices_.set_others(use.device, others_of(step.slot));
    limit(use.device, use.kept_bytes);
    allocator_.note_unrecorded(use.device, use.unrecorded_bytes);
    if (has_room) return;
    result_.refusal = {.step = at,
                       .at_ns = step.at_ns,
                       .bytes = use.unrecorded_bytes,
                       .place = {.device = use.device},
                       .is_use = true};
  }

  void refuse(const TrialStep& step, std::size_t at) {
    result_.refusal = {
        .step = at, .at_ns = step.at_ns, .bytes = step.bytes, .place = trace_.places[step.place]};
  }

  const TrialSteps& trace_;
  const TrialSettings& settings_;
  TrialDevices devices_;
  CachingAllocator allocator_;
  std::vector<Held> held_;
  std::array<Requested, kMaxDevices> requested_{};
  std::vector<std::uint64_t> others_;
  std::vector<std::size_t> served_;
  TrialResult result_;
};

}  // namespace

namespace {

bool is_small(std::uint64_t bytes) { return bytes <= kMostInSharedPages; }

// Whether the driver gave memory of which several allocations share a page.
bool has_small_allocations(const TrialSteps& trace, Serving serving) {
  for (const SegmentChange& change : trace.segments) {
    const bool came = change.what == SegmentChange::What::came;
    if (came && change.place.kind != Kind::pinned && is_small(change.bytes)) return true;
  }
  for (const TrialStep& step : trace.steps) {
    const bool is_direct =
        step.what == What::came || (step.what == What::allocated && serving == Serving::driver);
    if (is_direct && is_small(step.bytes) && has_device(trace.places[step.place].kind)) return true;
  }
  return false;
}

// That could be told from failures for another reason, because the size of each device is known.
bool has_refusals(const TrialSteps& trace) {
  for (const std::uint16_t device : trace.devices) {
    if (trace.total_bytes[device] == 0) return false;
  }
  return std::ranges::any_of(trace.steps, [](const TrialStep& step) {
    return step.what == What::refused || step.what == What::refused_by_driver;
  });
}

}  // namespace

void learn(TrialSteps& trace, const TrialSettings& recorded) {
  std::vector<std::uint64_t> others;
  bool is_asked = has_small_allocations(trace, recorded.serving) || has_refusals(trace);
  while (is_asked) {
    Player player(trace, recorded);
    std::size_t at = 0;
    player.play(at, trace.steps.size());
    others = player.others();
    // Without them the steps behind them may go otherwise.
    for (const std::size_t served : player.served()) trace.steps[served].what = What::nothing;
    is_asked = !player.served().empty();
  }
  for (std::size_t i = others.size(); i < trace.uses.size(); ++i) {
    others.push_back(trace.uses[i].unrecorded_bytes);
  }
  trace.others = std::move(others);
}

std::vector<TrialPeaks> play_parts(const TrialSteps& steps, const TrialSettings& settings,
                                   const std::vector<std::size_t>& begins,
                                   TrialProgress& progress) {
  Player player(steps, settings);
  std::vector<TrialPeaks> peaks;
  std::size_t at = 0;
  for (std::size_t part = 0; part <= begins.size(); ++part) {
    const std::size_t before = at;
    player.play(at, part < begins.size() ? begins[part] : steps.steps.size());
    progress.steps.fetch_add(at - before, std::memory_order_relaxed);
    if (player.is_over()) return {};
    peaks.push_back(player.take_peaks());
  }
  return peaks;
}

TrialResult play(const TrialSteps& steps, const TrialSettings& settings, TrialProgress& progress) {
  Player player(steps, settings);
  for (std::size_t at = 0; at < steps.steps.size() && !player.is_over();) {
    const std::size_t before = at;
    player.play(at, std::min(steps.steps.size(), at + kStepsAtOnce));
    progress.steps.fetch_add(at - before, std::memory_order_relaxed);
    if (progress.stops.load(std::memory_order_relaxed)) break;
  }
  return player.finish();
}

}  // namespace vramscope
