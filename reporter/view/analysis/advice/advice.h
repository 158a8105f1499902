// Advice is a finding that an expert would write from a report or a trace: what takes memory or
// time, how much less there would be without it, and the figures that show it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "allocator/base/named_enum.h"
#include "allocator/base/place.h"
#include "reporter/view/analysis/leaks/leaks.h"

namespace vramscope {

// What is looked for. Those after `from_trace` need the order of allocations and frees.
//   grows           a call site keeps memory again and again, and frees none until the program ends
//   two_pools       pools of two libraries hold memory of one GPU side by side
//   fragmented      blocks of one call site keep segments that are mostly free
//   small_segments  small blocks of many call sites keep segments that are mostly free
//   rounded         requests are just above a multiple of the driver's page
//   pinned_again    host memory is pinned and unpinned again and again
//   temporary       a call site allocates and soon frees, again and again
//   freed_late      memory of a range that was over is live at the peak, and freed afterwards
//   overlap         two ranges of different threads hold memory at the peak
#define VRAMSCOPE_FINDINGS(X) \
  X(grows)                    \
  X(two_pools)                \
  X(fragmented) X(small_segments) X(rounded) X(pinned_again) X(temporary) X(freed_late) X(overlap)
VRAMSCOPE_NAMED_ENUM(FindingKind, std::uint8_t, VRAMSCOPE_FINDINGS);

// How sure the figure of what is saved is.
#define VRAMSCOPE_CERTAINTIES(X) X(exact) X(at_most) X(about)
VRAMSCOPE_NAMED_ENUM(Certainty, std::uint8_t, VRAMSCOPE_CERTAINTIES);

// What a call site has of it.
struct AdviceSite {
  std::int64_t site = -1;  // index into the report's sites
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;
};

// A range, a pool or a thread that a finding is about.
struct AdviceParty {
  std::string name;
  std::uint64_t bytes = 0;
};

struct Advice {
  FindingKind what = FindingKind::grows;
  Certainty sure = Certainty::exact;
  std::uint64_t saves_bytes = 0;  // 0: it saves time
  std::uint64_t saves_ns = 0;     // 0: it saves memory
  Kind kind = Kind::device;
  std::uint16_t device = 0;
  std::vector<AdviceSite> sites = {};     // the largest first
  std::vector<AdviceParty> parties = {};  // the largest first
  std::uint64_t whole_bytes = 0;          // of which the saving is a part: the peak, or segments
  std::uint64_t count = 0;                // allocations, or segments
  std::uint64_t of_count = 0;             // all of these
  std::uint64_t peak_ns = 0;              // when the peak was
  std::uint64_t refused_ns = 0;           // when memory ran out, where that instant was looked at
  std::uint64_t last_ns = 0;              // when the range allocated last
  std::uint64_t lived_ns = 0;             // all of `count` lived less than this
  std::optional<GrowthRate> rate = {};
  // Of growth without a rate: intervals of the run in which the live bytes rose, and all since the
  // first allocation.
  std::uint64_t rises = 0;
  std::uint64_t intervals = 0;
};

// Memory first, the most first; then time, the most first. May throw bad_alloc.
void put_largest_first(std::vector<Advice>& all);

struct Report;
struct MapPlace;

// Returns whether the segments of a report are of an instant that matters. At the end of a program
// little is live, and its segments say nothing of the peak.
[[nodiscard]] bool has_telling_segments(const Report& report);

// Finds memory that only grows, as far as leaks_of() does: of the report's instant. May throw
// bad_alloc.
[[nodiscard]] std::vector<Advice> growing_in(const Report& report, const NameFrame& name);

// Finds what a report shows. Takes the report of one process. May throw bad_alloc.
[[nodiscard]] std::vector<Advice> advice_of_report(const Report& report, const NameFrame& name);

// Finds which call sites keep segments of a kind and device that are mostly free, in a map of one
// instant. May throw bad_alloc.
[[nodiscard]] std::vector<Advice> advice_of_map(const std::vector<MapPlace>& places);

}  // namespace vramscope
