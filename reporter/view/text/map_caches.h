// What of a map's blocks a framework's cache holds, which cuts them into blocks of its own.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reporter/view/analysis/memory_map.h"
#include "reporter/view/analysis/stacks/frames.h"
#include "reporter/view/listing/columns.h"

namespace vramscope {

struct Page;

struct MapCache {
  std::string name;         // "PyTorch's cache"
  std::string inside;       // how to see what is in it; "": no way
  std::uint64_t bytes = 0;  // of blocks that it holds, requested
  std::uint64_t blocks = 0;
};

// The largest first. May throw bad_alloc.
[[nodiscard]] std::vector<MapCache> caches_in(const Report& report, const MapPlace& place,
                                              const NameFrame& name);
[[nodiscard]] Columns<MapCache> map_cache_columns();
// A paragraph for each; "" where there are none.
[[nodiscard]] std::string map_caches_text(const std::vector<MapCache>& caches,
                                          const MapPlace& place, const Page& page);

}  // namespace vramscope
