// MapMoment says of which instant a map is, and what is known of that.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "reporter/report/oom_events.h"

namespace vramscope {

// Which memory, of which instant.
struct MapMoment {
  std::string text;         // "at the end", "at the peak"
  std::uint64_t at_ns = 0;  // after the timeline's start
  bool is_of_trace = false;
  bool are_inferred = false;  // segments, from the blocks of a trace: idle ones are not known
  std::string remark = {};    // a line that is said of it; "": none
  std::optional<OomEvent> refused = {};  // what was refused then
  std::uint64_t refusals = 0;            // of the process, as far as is known
};

}  // namespace vramscope
