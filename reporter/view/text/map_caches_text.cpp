// Tells what caches hold.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/map_caches_text.h"

#include "reporter/view/listing/format.h"

namespace vramscope {

Columns<MapCache> map_cache_columns() {
  return {
      {"name", "of the cache", &MapCache::name},
      {"inside", "how to see what is free inside the cache; empty: not possible",
       &MapCache::inside},
      {"bytes",
       "bytes of the blocks that it holds, with rounding, whether in use or idle inside the cache",
       &MapCache::bytes},
      {"blocks", "number of blocks that it holds", &MapCache::blocks}};
}

Document map_caches_text(const std::vector<MapCache>& caches, const MapPlace& place) {
  Document text;
  for (const MapCache& cache : caches) {
    text.paragraph(cache.name + " holds " + amount_text(cache.bytes) + " (" +
                   percent_text(cache.bytes, place.total_bytes) + ") of these segments, in " +
                   counted(cache.blocks, "block") +
                   ": only this cache knows how much of them is free" +
                   (cache.inside.empty() ? "" : "; to see its contents: " + cache.inside));
  }
  return text;
}

}  // namespace vramscope
