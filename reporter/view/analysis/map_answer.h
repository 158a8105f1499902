// PlaceAnswer is what is known of a kind of memory on a device at the instant of a map, besides its
// segments: what caches hold of it, what was refused, what the driver had.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reporter/view/analysis/map_moment.h"
#include "reporter/view/analysis/memory_map.h"
#include "reporter/view/analysis/sampled_free.h"
#include "reporter/view/analysis/stacks/frames.h"

namespace vramscope {

// What a framework's cache holds of the blocks, which it cuts into blocks of its own.
struct MapCache {
  std::string name;         // "PyTorch's cache"
  std::string inside;       // how to see what is in it; "": no way
  std::uint64_t bytes = 0;  // of blocks that it holds, with rounding
  std::uint64_t blocks = 0;
};
// The largest first. May throw bad_alloc.
[[nodiscard]] std::vector<MapCache> caches_in(const Report& report, const MapPlace& place,
                                              const NameFrame& name);

// What was refused of the memory at that instant: MapMoment::refused.
struct RefusedThere {
  std::uint64_t limit = 0;                 // that refused it; 0: the driver did
  std::optional<std::uint64_t> free = {};  // for it; nothing: nobody knows
  std::uint64_t stranded = 0;              // where the request is served from
  bool is_of_stranding = false;            // with what is stranded it would have had enough
  bool is_of_policy = false;               // is_refused_by_policy()
  bool native_safe_serves = false;
};

// The place outlives it.
struct PlaceAnswer {
  const MapPlace* place = nullptr;
  std::vector<MapCache> caches = {};
  std::optional<RefusedThere> refused = {};
  std::uint64_t kept_by_pools = 0;  // of the driver, freed; 0: nothing, or not known
  // What a new segment could be of: of a report's own moment, of plain memory.
  std::optional<SampledFree> free = {};
};
// In the order of the places. May throw bad_alloc.
[[nodiscard]] std::vector<PlaceAnswer> map_answer(const Report& report,
                                                  const std::vector<MapPlace>& places,
                                                  const MapMoment& moment, const NameFrame& name);

}  // namespace vramscope
