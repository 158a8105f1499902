// oom_text() tells of allocations that failed because memory ran out: what was asked for, who held
// the memory, what stood in the way, and what would help.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "reporter/report/oom_events.h"
#include "reporter/view/analysis/leaks/framework_caches.h"
#include "reporter/view/analysis/leaks/leaks.h"
#include "reporter/view/analysis/stacks/frames.h"
#include "reporter/view/listing/columns.h"
#include "reporter/view/listing/format.h"

namespace vramscope {

struct Report;

// What was never freed, without what `vramscope leaks` leaves out by itself; empty where memory
// never ran out. May throw bad_alloc.
[[nodiscard]] Leaks leaks_for_oom(const Report& report, const NameFrame& name);

// Of what was held when memory ran out, what places held that allocate all along and do not free,
// or that allocated several times, freed nothing, and asked for more.
struct LeakThen {
  std::uint64_t bytes = 0;  // requested; 0: too little to speak of
  std::uint64_t count = 0;  // blocks
  std::uint64_t places = 0;
  bool is_growth = true;  // all of them allocated all along
  std::string rate = {};  // "2.00 MiB each call", of the largest that grows; "": not known
  bool is_most = false;   // half of what was asked for or more; else enough for what was refused
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
// "900 MiB of 1 place that freed nothing, ..."; "": nothing tells.
[[nodiscard]] std::string held_text(const HeldThen& held);
// Whether it would have been refused had nothing been held: more than the limit, or the GPU, has.
[[nodiscard]] bool asks_for_too_much(const Report& report, const OomEvent& event);

// What was free in pieces beside blocks in use, where the request failed for want of one piece:
// with it, what was free would have been enough, and `map` calls as much fragmentation. 0: that was
// not why, or nobody knows.
[[nodiscard]] std::uint64_t stranded_then(const Report& report, const OomEvent& event);
// Whether the policy keeps segments for larger requests from it, whatever is free there.
[[nodiscard]] bool is_for_small_pool(const Report& report, const OomEvent& event);
// Whether it was refused because --policy pytorch reserved what native-safe would have had.
[[nodiscard]] bool native_safe_serves(const Report& report, const OomEvent& event);

// An estimate of what would have been free without the cache. Only of events with details.
[[nodiscard]] std::uint64_t native_free_then(const Report& report, const OomEvent& event);

// What would help, most likely; "": nobody knows.
[[nodiscard]] std::string hint_for(const Report& report, const OomEvent& event, const Leaks& leaks);

// "as much was served 12.3 ms later"; "" where it was not, or nobody knows.
[[nodiscard]] std::string served_later(const OomEvent& event);

// "1st", of a refusal by its number.
[[nodiscard]] std::string ordinal_text(std::uint64_t number);

// Whether the driver served each allocation itself.
[[nodiscard]] bool is_observed(const Report& report);

// The bytes of --device-memory-limit, where that refused it; 0: the driver did. What it left.
[[nodiscard]] std::uint64_t refusing_limit(const Report& report, const OomEvent& event);
// Only where it is known.
[[nodiscard]] inline bool knows_free_under_limit(const OomEvent& event) {
  return event.counted_bytes != 0 || event.has_details;
}
[[nodiscard]] std::uint64_t free_under_limit(std::uint64_t limit, const OomEvent& event);
// What of the details counts against the limit: what the program has and what the driver keeps for
// it, and nothing of others. They were looked at a moment later, while other threads went on.
[[nodiscard]] std::uint64_t counted_when_looked(const OomEvent& event);

// Of the same memory of the same process, the last event before `event` that was looked at; nullptr
// where there is none, or nobody knows whose they are.
[[nodiscard]] const OomEvent* looked_at_before(const Report& report, const OomEvent& event);

// Of what was live, and of what pinned segments. The report outlives them.
[[nodiscard]] Columns<OomShare> oom_share_columns(const Report& report, const NameFrame& name);
[[nodiscard]] Columns<OomPin> oom_pin_columns(const Report& report, const NameFrame& name);
// What oom_json() writes.
[[nodiscard]] Columns<OomReport> oom_fields(const Report& report, const NameFrame& name,
                                            const RowChoice& choice);

// Each text and JSON ends with a newline. What is chosen are rows of each table. leaks: those of
// leaks_for_oom().
[[nodiscard]] std::string oom_text(const Report& report, const Leaks& leaks, const NameFrame& name,
                                   const Page& page, const RowChoice& choice);
[[nodiscard]] std::string oom_json(const Report& report, const NameFrame& name,
                                   const RowChoice& choice);
// Both tables of every event.
void add_oom_csv(CsvText& csv, const Report& report, const NameFrame& name,
                 const RowChoice& choice);

// "300 MiB of GPU 0 refused to main (a.cpp:12), 124 MiB free": the last one; "" when memory never
// ran out.
[[nodiscard]] std::string oom_line(const Report& report, const NameFrame& name);

}  // namespace vramscope
