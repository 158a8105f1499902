// PeakUse explains how full a GPU was: everything that nvidia-smi counts, in parts that add up.
// Unknown values are not 0.
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
  memory,        // requested and not freed, by owner
  held_by_pool,  // the same in a framework's cache, idle or not
  reserved,  // by our allocator beyond requests: rounding, free beside live blocks, idle; at most
  pages,     // what the driver rounds up to whole pages
  pools,     // freed memory that the driver's pools keep
  driver,    // contexts and code
  before,    // of an attached process: what it held before
  others,    // other processes, and what no row explains
};
inline constexpr std::string_view kPeakPartNames[] = {"requested",    "framework_cache", "reserved",
                                                      "driver_pages", "pools",           "contexts",
                                                      "from_before",  "others"};

struct PeakUseRow {
  PeakPart part = PeakPart::memory;
  std::string owner = {};                       // the owner or the cache; else empty
  std::optional<std::uint64_t> bytes = {};      // nothing: not known
  std::optional<std::uint64_t> end_bytes = {};  // the value at the end, for memory that no call
                                                // requested
  bool has_contexts = false;  // of others: it includes contexts and code of this process
};

// Requested bytes are from the instant at which all kinds of memory together peaked. What our
// allocator had reserved is the most at any time, which need not be that instant: its row is an
// upper bound. Contexts and code are those of the end.
struct PeakUse {
  std::uint16_t device = 0;
  std::string gpu = {};               // for people: gpu_name()
  std::vector<PeakUseRow> rows = {};  // memory first, the largest first
  std::uint64_t bytes = 0;            // of all rows that are known
  std::uint64_t most_reserved = 0;    // of `bytes`, what is an upper bound
  bool is_all = true;                 // every row of this process is known
  // What the process needs without idle memory of ours, of the driver's pools, and of what
  // frameworks' caches hold; without contexts, code and pages where these are not known.
  std::uint64_t needed_least = 0;
  std::uint64_t needed_most = 0;
  bool lacks_contexts = false;  // contexts and code are not known
  bool lacks_pages = false;     // nor is what the driver rounds up to whole pages
};

// Returns the GPUs by number. Returns none for several processes, which peaked at different times,
// nor if rows or kinds were chosen, nor for a snapshot without history. May throw bad_alloc.
[[nodiscard]] std::vector<PeakUse> peak_uses(const Report& report, const NameFrame& name);

}  // namespace vramscope
