// MapMoment is the instant of a map, and what is known of it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "allocator/base/place.h"
#include "reporter/report/oom_events.h"

namespace vramscope {

// The memory and the instant.
struct MapMoment {
  std::string text;                                            // "at the end", "at the peak"
  std::uint64_t at_ns = 0;                                     // after the timeline's start
  std::optional<std::pair<Kind, std::uint16_t>> peak_of = {};  // at its peak
  bool is_of_trace = false;
  bool are_inferred = false;  // segments are inferred from the blocks of a trace: idle ones are
                              // unknown
  std::string remark = {};    // a line for the map; "": none
  std::optional<OomEvent> refused = {};  // the request that was refused then
  std::uint64_t refusals = 0;            // of the process, as far as is known
};

}  // namespace vramscope
