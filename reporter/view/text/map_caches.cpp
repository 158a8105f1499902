// Asks of each live block who allocated it.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/map_caches.h"

#include <algorithm>
#include <map>
#include <optional>

#include "reporter/report/report.h"
#include "reporter/view/analysis/leaks/framework_caches.h"
#include "reporter/view/analysis/leaks/site_owner.h"
#include "reporter/view/analysis/site_usage.h"
#include "reporter/view/listing/format.h"

namespace vramscope {
namespace {

struct Held {
  std::uint64_t bytes = 0;
  std::uint64_t blocks = 0;
};

using ByCache = std::map<std::size_t, Held>;

// Of the place's blocks, that a site allocated. Which stack each is of is not known where a view
// made one site of several: then as much as these hold.
void add(ByCache& found, const Site& site, Held blocks, const MapPlace& place,
         FrameworkCaches& caches) {
  const auto cache_of = [&](const auto& frames, const auto& parts) -> std::optional<std::size_t> {
    const SitePart* const part = part_of(parts, place.kind, place.device);
    return part == nullptr ? std::nullopt : caches.of(frames, *part);
  };
  if (site.whole.size() < 2) {
    const auto cache = cache_of(first_stack(site), site.parts);
    if (!cache) return;
    found[*cache].bytes += blocks.bytes;
    found[*cache].blocks += blocks.blocks;
    return;
  }
  for (const RecordedStack& stack : site.whole) {
    const auto cache = cache_of(stack.frames, stack.parts);
    if (!cache) continue;
    const SiteTotals& live = numbers_of(*part_of(stack.parts, place.kind, place.device));
    const Held its{std::min(blocks.bytes, live.live_bytes),
                   std::min(blocks.blocks, live.live_count)};
    found[*cache].bytes += its.bytes;
    found[*cache].blocks += its.blocks;
    blocks.bytes -= its.bytes;
    blocks.blocks -= its.blocks;
  }
}

}  // namespace

std::vector<MapCache> caches_in(const Report& report, const MapPlace& place,
                                const NameFrame& name) {
  FrameworkCaches caches(report, name);
  std::map<std::int64_t, Held> by_site;
  for (const MapSegment& segment : place.segments) {
    for (const BlockFacts& block : segment.facts->blocks) {
      if (block.state != BlockState::active_allocated || block.site < 0) continue;
      Held& held = by_site[block.site];
      held.bytes += block.requested_size;
      ++held.blocks;
    }
  }
  ByCache found;
  for (const auto& [site, held] : by_site) {
    add(found, report.sites[static_cast<std::size_t>(site)], held, place, caches);
  }
  std::vector<MapCache> all;
  for (const auto& [number, held] : found) {
    const FrameworkCache& cache = framework_caches()[number];
    const bool cuts_blocks = !cache.name.starts_with("PyTorch's workspaces");
    if (held.bytes != 0 && cuts_blocks)
      all.push_back({std::string(cache.name), std::string(cache.inside), held.bytes, held.blocks});
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const MapCache& a, const MapCache& b) { return a.bytes > b.bytes; });
  return all;
}

Columns<MapCache> map_cache_columns() {
  return {{"name", "of the cache", &MapCache::name},
          {"inside", "how to see what is free inside; empty: no way", &MapCache::inside},
          {"bytes", "requested, of blocks that it holds, idle inside it or not", &MapCache::bytes},
          {"blocks", "that it holds", &MapCache::blocks}};
}

std::string map_caches_text(const std::vector<MapCache>& caches, const MapPlace& place,
                            const Page& page) {
  std::string text;
  for (const MapCache& cache : caches) {
    text += paragraph(cache.name + " holds " + amount_text(cache.bytes) + " (" +
                          percent_text(cache.bytes, place.total_bytes) +
                          ") of these segments, in " + counted(cache.blocks, "block") +
                          ": what is free inside them, only that cache knows" +
                          (cache.inside.empty() ? "" : "; to see inside: " + cache.inside),
                      page);
  }
  return text;
}

}  // namespace vramscope
