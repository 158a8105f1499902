// TraceTotals adds up what the events of a trace come to.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "reporter/view/analysis/replay/trace_follower.h"

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
  std::uint64_t max_ns = 0;  // the longest call
};

struct TraceTag {
  TraceHolding held;
  std::uint64_t total_ns = 0;     // in its allocating calls
  std::uint64_t peak_number = 0;  // of the peak that held.peak_bytes belongs to
  TraceKind* kind = nullptr;      // what it is a part of
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

// Only of allocations that pass: their calls, and their memory until it goes. Threads: one.
class TraceTotals final : public TraceObserver {
 public:
  void event(const FollowedEvent& now) override;
  void came(const TraceBlock& block, const FollowedEvent& now) override;
  void went(const TraceBlock& block, const FollowedEvent& now, TraceMemory::End how) override;
  // After the last event: what tags held at the peaks.
  void finish();

  std::uint64_t events = 0;
  std::uint64_t calls = 0;
  std::uint64_t failures = 0;
  std::uint64_t first_ns = 0;  // by the clock of the events
  std::uint64_t last_ns = 0;   // when the last call ended
  std::map<TracePlace, TraceKind> kinds;
  std::map<std::uint16_t, TraceFunction> functions;
  std::map<std::uint32_t, std::uint64_t> threads;  // events
  // Tag 0 belongs to several kinds.
  std::map<std::pair<Tag, TracePlace>, TraceTag> tags;

 private:
  using Tags = std::map<std::pair<Tag, TracePlace>, TraceTag>;

  TraceTag& touch(Tag tag, Place place);
  void count(const TraceEvent& one);

  Tags::value_type* last_ = nullptr;  // that was touched: an event is often of the same
};

}  // namespace vramscope
