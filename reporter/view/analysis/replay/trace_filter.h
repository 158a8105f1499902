// TraceFilter decides which allocations of a trace a listing contains; trace_filter() makes one
// from what the user typed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "allocator/base/place.h"
#include "reporter/report/traces/trace_reader.h"
#include "reporter/view/analysis/stacks/frames.h"

namespace vramscope {

struct Filter;
struct Report;

// Instants are nanoseconds after time 0, when recording began. Threads: any, since it is not
// changed.
struct TraceFilter {
  bool is_empty = true;      // everything within its times passes
  bool is_by_memory = true;  // it asks only for kinds and devices, not for times
  std::vector<bool> tags;    // by tag: whether it passes
  std::vector<bool> kinds;   // by kind: whether it passes
  std::optional<unsigned> device;
  std::uint64_t from_ns = 0;
  std::uint64_t to_ns = UINT64_MAX;
  std::uint64_t least_bytes = 0;  // requested bytes of an allocation

  // Returns whether an allocation of this tag, place and size passes, at any time.
  [[nodiscard]] bool passes(Tag tag, Place place, std::uint64_t bytes) const {
    if (is_empty) return true;
    return bytes >= least_bytes && tag < tags.size() && tags[tag] && passes_memory(place);
  }
  // Decides by kind and device only.
  [[nodiscard]] bool passes_memory(Place place) const {
    return is_empty || (kinds[static_cast<std::size_t>(place.kind)] &&
                        (!device || (has_device(place.kind) && place.device == *device)));
  }
};

// Returns "", or what the filter names that no allocation of the trace has: "has no thread 'x';
// threads: main 4711". Devices are known only after the events are read: see TraceFollower. May
// throw bad_alloc.
[[nodiscard]] std::string missing_from(const TraceNames& names, const Filter& filter);

// May throw bad_alloc.
[[nodiscard]] TraceFilter trace_filter(const TraceNames& names, const Filter& filter,
                                       const NameFrame& name);

// Returns a report with the parts that the trace's stacks need, and their threads. May throw
// bad_alloc.
[[nodiscard]] Report report_of_names(const TraceNames& names);

// Returns the instant of an event, with time 0 at `begin_ns`; an earlier event is at 0.
[[nodiscard]] constexpr std::uint64_t after(std::uint64_t begin_ns, std::uint64_t ns) {
  return ns < begin_ns ? 0 : ns - begin_ns;
}

}  // namespace vramscope
