// TraceTotals adds up what the events of a trace come to.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "reporter/report/traces/trace_reader.h"

namespace vramscope {

// Requested bytes, as everywhere.
struct TraceHolding {
  std::uint64_t allocations = 0;
  std::uint64_t bytes = 0;  // ever
  std::uint64_t frees = 0;
  std::uint64_t live_bytes = 0;
  std::uint64_t live_count = 0;
  std::uint64_t peak_bytes = 0;  // of a tag: what it held at the peak of its kind and device
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

// By kind and device; kinds without a device have 0.
using TracePlace = std::pair<Kind, std::uint16_t>;

// Takes events in the order by_change. Threads: one.
class TraceTotals {
 public:
  void add(const TraceEvent& event);
  // After the last event: what tags held at the peaks.
  void finish();

  std::uint64_t events = 0;
  std::uint64_t calls = 0;
  std::uint64_t failures = 0;
  std::uint64_t first_ns = 0;
  std::uint64_t last_ns = 0;  // when the last call ended
  std::map<TracePlace, TraceKind> kinds;
  std::map<std::uint16_t, TraceFunction> functions;
  std::map<std::uint32_t, std::uint64_t> threads;  // events
  // Tag 0 belongs to several kinds.
  std::map<std::pair<Tag, TracePlace>, TraceTag> tags;

 private:
  struct Live {
    std::uint64_t bytes = 0;
    Tag tag = 0;
    Place place;
  };
  using Key = std::pair<Space, Address>;
  struct KeyHash {
    std::size_t operator()(const Key& key) const noexcept {
      return (key.second ^ static_cast<std::uint64_t>(key.first) << 60) * 0x9e3779b97f4a7c15U;
    }
  };

  TraceTag& touch(Tag tag, TracePlace where, const TraceKind& kind);
  void come(const Event& event, bool direct);
  void go(const Event& event, bool direct);
  void count_end(const Live& live);
  void end_overlapping(Space space, Address address, std::uint64_t bytes);
  template <class Lives>
  void end_place(Lives& lives, Place place);

  std::unordered_map<Key, Live, KeyHash> served_;  // by our allocator: its blocks never overlap
  std::map<Key, Live> direct_;
};

}  // namespace vramscope
