// Why memory ran out, in figures: a leak, fragmentation, what the program holds, or a request that
// is larger than everything.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "reporter/report/oom_events.h"
#include "reporter/view/analysis/leaks/framework_caches.h"
#include "reporter/view/analysis/leaks/leaks.h"
#include "reporter/view/analysis/refusals/refusal_limit.h"
#include "reporter/view/analysis/refusals/refusal_policy.h"
#include "reporter/view/analysis/stacks/frames.h"

namespace vramscope {

struct Report;

// Rounding and leaks are named from this part of what was held on.
inline constexpr std::uint64_t kTenthOfHeld = 10;

// What was never freed, without what `vramscope leaks` leaves out by itself; empty where memory
// never ran out. May throw bad_alloc.
[[nodiscard]] Leaks leaks_for_oom(const Report& report, const NameFrame& name);

// Of what was held when memory ran out, what places held that allocate all along and do not free,
// or that allocated several times, freed nothing, and asked for more.
struct LeakThen {
  std::uint64_t bytes = 0;  // requested; 0: too little to speak of
  std::uint64_t count = 0;  // blocks
  std::uint64_t places = 0;
  bool is_growth = true;                // all of them allocated all along
  std::optional<GrowthRate> rate = {};  // of the largest that grows; nothing: not known
  bool is_most = false;  // half of what was asked for or more; else enough for what was refused
};
[[nodiscard]] LeakThen leak_then(const Report& report, const Leaks& leaks, const OomEvent& event);
// Whether the call stack allocates that memory all along and does not free it.
[[nodiscard]] bool grows(const Leaks& leaks, const OomShare& share);
// Of the rest: what a framework's cache held, what places held all of whose memory was live then,
// and those that freed most of what they had allocated. Of other places nothing tells.
struct HeldThen {
  std::uint64_t kept_bytes = 0;  // requested, as all here
  std::uint64_t kept_places = 0;
  std::uint64_t temporary_bytes = 0;
  std::uint64_t temporary_places = 0;
  std::uint64_t cache_bytes = 0;  // of a framework's cache, whatever that freed
  FrameworkCache cache = {};      // one of these
};
[[nodiscard]] HeldThen held_then(const Report& report, const OomEvent& event, const Leaks& leaks);
// Of what was held, what places held that allocate all along and do not free.
[[nodiscard]] std::uint64_t grown_then(const OomEvent& event, const Leaks& leaks);
// Whether it would have been refused had nothing been held: more than the limit, or the GPU, has.
[[nodiscard]] bool asks_for_too_much(const Report& report, const OomEvent& event);

// What was free in pieces beside blocks in use, where the request failed for want of one piece:
// with it, what was free would have been enough, and `map` calls as much fragmentation. 0: that was
// not why, or nobody knows.
[[nodiscard]] std::uint64_t stranded_then(const Report& report, const OomEvent& event);

// What the driver keeps of the last free memory for itself.
[[nodiscard]] std::uint64_t driver_reserve(const Report& report);
// How much more, free, would have served the request, in the driver's pages; 0: as much was there,
// or nobody knows. What is idle is given back first: it became so since.
[[nodiscard]] std::uint64_t lacking_then(const OomEvent& event, std::uint64_t free);

// Of the same memory of the same process, the last event before `event` that was looked at; nullptr
// where there is none, or nobody knows whose they are.
[[nodiscard]] const OomEvent* looked_at_before(const Report& report, const OomEvent& event);

}  // namespace vramscope
