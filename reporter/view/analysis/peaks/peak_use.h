// PeakUse is what made a GPU as full as it was: all that nvidia-smi counts there, in parts that add
// up. What nobody knows of the peak is no 0.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reporter/view/analysis/stacks/frames.h"

namespace vramscope {

struct Report;

enum class PeakPart : std::uint8_t {
  memory,        // requested and not freed, by whose code asked
  held_by_pool,  // the same of a framework's cache, idle or not
  rounding,      // of requests, by our allocator
  beside,        // free in segments with blocks in use, or freed and perhaps in use yet
  idle,          // in our cache
  untold_idle,   // these three, which nothing tells apart
  pages,         // what the driver rounds up to its pages
  pools,         // what the driver's pools keep of what was freed
  driver,        // contexts, and code
  others,        // other processes, and what no row tells
};
inline constexpr std::string_view kPeakPartNames[] = {
    "requested", "framework_cache", "rounding", "beside_blocks", "idle",
    "reserved",  "driver_pages",    "pools",    "contexts",      "others"};

struct PeakUseRow {
  PeakPart part = PeakPart::memory;
  std::string owner = {};                       // whose code asked, or the cache; else empty
  std::optional<std::uint64_t> bytes = {};      // nothing: not known
  std::optional<std::uint64_t> end_bytes = {};  // the same in the end, of what no call asks for
};

// Requested bytes are of the instant at which all kinds of memory together were at their peak; what
// our allocator had reserved is the most at any time, so that its rows are right where both came
// together, and bounds else. Contexts and code are those of the end.
struct PeakUse {
  std::uint16_t device = 0;
  std::string gpu = {};               // for a reader: gpu_name()
  std::vector<PeakUseRow> rows = {};  // memory first, the largest first
  std::uint64_t bytes = 0;            // of all rows that are known
  bool is_all = true;                 // every row of this process is
  bool are_instants_apart = false;    // what was reserved may be of another instant
  // What the process needs without idle memory of ours and of the driver's pools; of a framework's
  // cache all counts as needed.
  std::uint64_t needed_least = 0;
  std::uint64_t needed_most = 0;
};

// By device. None of several processes, whose peaks came at different times, nor where rows or
// kinds were chosen. May throw bad_alloc.
[[nodiscard]] std::vector<PeakUse> peak_uses(const Report& report, const NameFrame& name);

}  // namespace vramscope
