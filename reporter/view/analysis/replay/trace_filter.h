// TraceFilter says which allocations of a trace a listing is about; trace_filter() makes one of
// what a person typed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "allocator/ground/place.h"
#include "reporter/report/traces/trace_reader.h"
#include "reporter/view/analysis/stacks/frames.h"

namespace vramscope {

struct Filter;
struct Report;

// Instants are nanoseconds after time 0, when recording began. Threads: any, as it is not changed.
struct TraceFilter {
  bool is_empty = true;      // everything passes that is of its times
  bool is_by_memory = true;  // it asks for kinds and devices alone, and for no times
  std::vector<bool> tags;    // by tag: it passes
  std::vector<bool> kinds;   // by kind
  std::optional<unsigned> device;
  std::uint64_t from_ns = 0;
  std::uint64_t to_ns = UINT64_MAX;
  std::uint64_t least_bytes = 0;  // of an allocation, requested

  // Whether an allocation of this tag, place and bytes passes, at whatever time.
  [[nodiscard]] bool passes(Tag tag, Place place, std::uint64_t bytes) const {
    if (is_empty) return true;
    return bytes >= least_bytes && tag < tags.size() && tags[tag] && passes_memory(place);
  }
  // The same by kind and device alone.
  [[nodiscard]] bool passes_memory(Place place) const {
    return is_empty || (kinds[static_cast<std::size_t>(place.kind)] &&
                        (!device || (has_device(place.kind) && place.device == *device)));
  }
};

// "", or what the filter names that no allocation of the trace is of: "has no thread 'x'; threads:
// main 4711". Devices are known once the events are read: see TraceFollower. May throw bad_alloc.
[[nodiscard]] std::string missing_from(const TraceNames& names, const Filter& filter);

// May throw bad_alloc.
[[nodiscard]] TraceFilter trace_filter(const TraceNames& names, const Filter& filter,
                                       const NameFrame& name);

// What its stacks are made of, and the threads that have them. May throw bad_alloc.
[[nodiscard]] Report report_of_names(const TraceNames& names);

// The instant of an event, when time 0 was at `begin_ns`; one that began before that is at 0.
[[nodiscard]] constexpr std::uint64_t after(std::uint64_t begin_ns, std::uint64_t ns) {
  return ns < begin_ns ? 0 : ns - begin_ns;
}

}  // namespace vramscope
