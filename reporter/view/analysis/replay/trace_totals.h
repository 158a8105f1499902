// TraceTotals adds up what the events of a trace come to.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "reporter/report/traces/trace_memory.h"
#include "reporter/view/analysis/replay/trace_filter.h"

namespace vramscope {

// Requested bytes, as everywhere.
struct TraceHolding {
  std::uint64_t allocations = 0;
  std::uint64_t bytes = 0;  // ever
  std::uint64_t frees = 0;
  std::uint64_t live_bytes = 0;
  std::uint64_t live_count = 0;
  std::uint64_t peak_bytes = 0;  // of a tag: what it held at the peak of its kind and device
  std::uint64_t peak_count = 0;  // of a tag, the same
};

struct TraceKind {
  TraceHolding held;
  std::uint64_t peak_ns = 0;  // by the clock of the events
  Tag peak_tag = 0;
  std::uint64_t peak_number = 1;
};

struct TraceFunction {
  std::uint64_t calls = 0;
  std::uint64_t failures = 0;
  std::uint64_t total_ns = 0;
};

struct TraceTag {
  TraceHolding held;
  std::uint64_t total_ns = 0;     // in its allocating calls
  std::uint64_t peak_number = 0;  // of the peak that held.peak_bytes belongs to
};

// What it held at the present peak, whose number is given, is put aside before its first change
// after that.
void catch_up(TraceTag& tag, std::uint64_t peak_number);
void gain(TraceHolding& held, std::uint64_t bytes);
void lose(TraceHolding& held, std::uint64_t bytes);
void gain(TraceKind& kind, std::uint64_t bytes, const Event& event);  // a higher peak is noted

// By kind and device; kinds without a device have 0.
using TracePlace = std::pair<Kind, std::uint16_t>;

// Memory of the host is one place, whichever device was current.
[[nodiscard]] inline TracePlace place_of(Place place) {
  return {place.kind, has_device(place.kind) ? place.device : std::uint16_t{0}};
}

// Takes events in the order by_change. Threads: one.
class TraceTotals : private TraceMemory::Changes {
 public:
  TraceTotals() = default;
  // Only of allocations that pass: their calls, and their memory until it goes. `watcher`, which
  // outlives this, is told of what comes and goes of them; null: nobody.
  explicit TraceTotals(TraceFilter filter, TraceMemory::Changes* watcher = nullptr)
      : filter_(std::move(filter)), watcher_(watcher) {}

  void add(const TraceEvent& event);
  // After the last event: what tags held at the peaks.
  void finish();
  [[nodiscard]] const TraceFilter& filter() const { return filter_; }

  std::uint64_t events = 0;
  std::uint64_t calls = 0;
  std::uint64_t failures = 0;
  std::uint64_t begin_ns = 0;       // of the trace: time 0
  std::uint64_t end_ns = 0;         // of the trace: when its last call ended
  std::uint64_t first_ns = 0;       // of those that pass
  std::uint64_t last_ns = 0;        // when the last call ended
  std::set<std::uint16_t> devices;  // that any event is about, also if it does not pass
  std::map<TracePlace, TraceKind> kinds;
  std::map<std::uint16_t, TraceFunction> functions;
  std::map<std::uint32_t, std::uint64_t> threads;  // events
  // Tag 0 belongs to several kinds.
  std::map<std::pair<Tag, TracePlace>, TraceTag> tags;

 private:
  TraceTag& touch(Tag tag, TracePlace where, const TraceKind& kind);
  void came(const TraceBlock& block, const Event& event) override;
  void went(const TraceBlock& block, TraceMemory::End how) override;

  void look_at(const Event& event);
  [[nodiscard]] bool is_left_out(const TraceBlock& block) const {
    return block.slot < left_out_.size() && left_out_[block.slot];
  }
  void count(const TraceEvent& event);

  TraceMemory memory_;
  TraceFilter filter_;
  TraceMemory::Changes* watcher_ = nullptr;
  std::vector<bool> left_out_;                // by slot
  std::optional<std::uint16_t> last_device_;  // that was looked at
  bool has_begun_ = false;                    // begin_ns is known
  bool is_before_ = false;                    // the event that is being added: the filter's time
};

}  // namespace vramscope
