// TraceFilter says which allocations of a trace a listing is about; trace_filter() makes one of
// what a person typed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "allocator/ground/place.h"
#include "reporter/report/traces/trace_reader.h"
#include "reporter/view/text/frames.h"

namespace vramscope {

struct Filter;

// Instants are nanoseconds after the trace's first event. Threads: any, as it is not changed.
struct TraceFilter {
  bool is_empty = true;     // everything passes, and the rest says nothing
  std::vector<bool> tags;   // by tag: it passes
  std::vector<bool> kinds;  // by kind
  std::optional<unsigned> device;
  std::uint64_t from_ns = 0;
  std::uint64_t to_ns = UINT64_MAX;

  // Whether memory of this tag and place passes.
  [[nodiscard]] bool passes(Tag tag, Place place) const {
    if (is_empty) return true;
    return tag < tags.size() && tags[tag] && kinds[static_cast<std::size_t>(place.kind)] &&
           (!device || (has_device(place.kind) && place.device == *device));
  }
};

// May throw bad_alloc.
[[nodiscard]] TraceFilter trace_filter(const TraceNames& names, const Filter& filter,
                                       const NameFrame& name);

// The instant of an event, when the trace's first one was at `begin_ns`; one that began before that
// on another thread is at 0.
[[nodiscard]] constexpr std::uint64_t after(std::uint64_t begin_ns, std::uint64_t ns) {
  return ns < begin_ns ? 0 : ns - begin_ns;
}

}  // namespace vramscope
