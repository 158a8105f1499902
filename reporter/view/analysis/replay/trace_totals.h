// TraceTotals sums up the events of a trace.
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
  std::uint64_t bytes = 0;  // ever allocated
  std::uint64_t frees = 0;
  std::uint64_t live_bytes = 0;
  std::uint64_t live_count = 0;
  std::uint64_t peak_bytes = 0;  // of a tag: at the peak of its kind and device
  std::uint64_t peak_count = 0;  // of a tag: at that peak
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
  std::uint64_t peak_number = 0;  // number of the peak to which held.peak_bytes belongs
  TraceKind* kind = nullptr;      // the kind to which it belongs
};

// Stores what the tag holds as its value at the present peak, which has the given number, before
// the tag's first change after that peak.
void catch_up(TraceTag& tag, std::uint64_t peak_number);
void gain(TraceHolding& held, std::uint64_t bytes);
void lose(TraceHolding& held, std::uint64_t bytes);
void gain(TraceKind& kind, std::uint64_t bytes, const Event& event);  // notes a new peak

// Kind and device; 0 for kinds without a device.
using TracePlace = std::pair<Kind, std::uint16_t>;

// Memory of the host is one place, whichever device was current.
[[nodiscard]] inline TracePlace place_of(Place place) {
  return {place.kind, has_device(place.kind) ? place.device : std::uint16_t{0}};
}

// Counts only allocations that pass: their calls, and their memory until its end. Threads: one.
class TraceTotals final : public TraceObserver {
 public:
  void event(const FollowedEvent& now) override;
  void came(const TraceBlock& block, const FollowedEvent& now) override;
  void went(const TraceBlock& block, const FollowedEvent& now, TraceMemory::End how) override;
  // Must be called after the last event: determines what tags held at the peaks.
  void finish();

  std::uint64_t events = 0;
  std::uint64_t calls = 0;
  std::uint64_t failures = 0;
  std::uint64_t first_ns = 0;  // by the clock of the events
  std::uint64_t last_ns = 0;   // end of the last call
  std::map<TracePlace, TraceKind> kinds;
  std::map<std::uint16_t, TraceFunction> functions;
  std::map<std::uint32_t, std::uint64_t> threads;  // number of events
  // Tag 0 has several kinds.
  std::map<std::pair<Tag, TracePlace>, TraceTag> tags;

 private:
  using Tags = std::map<std::pair<Tag, TracePlace>, TraceTag>;

  TraceTag& touch(Tag tag, Place place);
  void count(const TraceEvent& one);

  Tags::value_type* last_ = nullptr;  // the last one used; the next event often has the same tag
};

}  // namespace vramscope
