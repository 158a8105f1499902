// TraceBegin says what was live when a trace began amid a run, and which events came before that.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "reporter/record/trace/code.h"

namespace vramscope {

// The instant, among all changes of memory. A trace of a whole run has none.
struct TraceBegin {
  std::uint64_t serial = 0;  // number of the newest allocation then
  std::uint64_t at_ns = 0;   // by the clock of events, just before the instant

  // Threads record from a little earlier on. Returns whether the event is part of what was live
  // then: an allocation up to this number, or a free before it. A free with the number itself may
  // have been earlier, but is then of no block that was live.
  [[nodiscard]] bool covers(const TraceEvent& event) const noexcept;
};
// All events are before it: what was live is not known yet.
inline constexpr TraceBegin kNeverBegun{.serial = UINT64_MAX, .at_ns = 0};

// Returns the contents of chunks. live: allocations; of each, serial, place, tag, address, bytes
// and whether it was direct. May throw bad_alloc.
[[nodiscard]] std::vector<std::string> put_begin(const TraceBegin& begin,
                                                 std::span<const Event> live);
// Reads the content of such a chunk. Adds to `live` what it has, as events at that instant. Returns
// false if it cannot be read. May throw bad_alloc.
[[nodiscard]] bool get_begin(TraceBytes& bytes, TraceBegin& begin, std::vector<TraceEvent>& live);

}  // namespace vramscope
