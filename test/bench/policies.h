// The policies that traces are played through, and what each of them makes of one.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "allocator/base/limits.h"
#include "reporter/report/traces/trace_memory.h"

namespace vramscope::bench {

// cache: blocks of segments that are kept. dedicated: a segment for each request of device memory,
// kept too; pinned memory is the driver's. driver: each request and each free is a call of it.
enum class Serving : std::uint8_t { cache, dedicated, driver };

struct PolicyRow {
  const char* name;
  Serving serving;
  Limits limits;
};

// THE list: a line here is a column of every table.
[[nodiscard]] std::span<const PolicyRow> policies();

// Of device memory, or of pinned memory. Bytes are at their peaks.
struct Needed {
  std::uint64_t pairs = 0;  // allocations
  std::uint64_t peak_bytes = 0;
};
struct Needs {
  Needed device;
  Needed pinned;
  std::uint64_t left_out = 0;  // allocations of other kinds, which no policy serves
};
[[nodiscard]] Needs needs_of(const TraceSteps& trace);

struct Used {
  std::uint64_t hits = 0;          // allocations without a driver call
  std::uint64_t refused = 0;       // out of memory
  std::uint64_t driver_calls = 0;  // that get, map, unmap or give back memory
  std::uint64_t peak_bytes = 0;    // of the device as its driver counts, or pinned in whole pages
};
struct Uses {
  Used device;
  Used pinned;
};

// From the trace's first step to its last, on a device of so many bytes that packs and rounds as
// drivers do. All devices of a trace are one, and the end of a context frees its memory.
[[nodiscard]] Uses uses_of(const TraceSteps& trace, const PolicyRow& policy,
                           std::uint64_t device_bytes);

// Nanoseconds of this thread for a pair, in the allocator alone: the driver's calls cost nothing.
// One sample for each policy, of a warm allocator.
[[nodiscard]] double ns_per_pair(const TraceSteps& trace, const PolicyRow& policy,
                                 std::uint64_t device_bytes);

}  // namespace vramscope::bench
