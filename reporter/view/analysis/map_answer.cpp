// Asks of each live block who allocated it, and of the instant what was refused.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/map_answer.h"

#include <algorithm>
#include <map>

#include "reporter/report/report.h"
#include "reporter/view/analysis/leaks/framework_caches.h"
#include "reporter/view/analysis/leaks/site_owner.h"
#include "reporter/view/analysis/refusals/refusal_limit.h"
#include "reporter/view/analysis/refusals/refusal_policy.h"
#include "reporter/view/analysis/report_figures.h"
#include "reporter/view/analysis/site_usage.h"
#include "reporter/view/analysis/subject.h"

namespace vramscope {
namespace {

struct Held {
  std::uint64_t bytes = 0;  // with rounding
  std::uint64_t requested = 0;
  std::uint64_t blocks = 0;
};

using ByCache = std::map<std::size_t, Held>;

void add(Held& sum, const Held& more) {
  sum.bytes += more.bytes;
  sum.requested += more.requested;
  sum.blocks += more.blocks;
}

// Of the place's blocks, that a site allocated. Which stack each is of is not known where a view
// made one site of several and not all are of one cache: then as much as these requested.
void add(ByCache& found, const Site& site, Held blocks, const MapPlace& place,
         FrameworkCaches& caches) {
  if (const auto cache = caches.of(site, place.kind)) return add(found[*cache], blocks);
  for (const RecordedStack& stack : site.whole) {
    const SitePart* const part = part_of(stack.parts, place.kind, place.device);
    const auto cache = part == nullptr ? std::nullopt : caches.of(stack.frames, *part);
    if (!cache) continue;
    const SiteTotals& live = numbers_of(*part);
    const std::uint64_t requested = std::min(blocks.requested, live.live_bytes);
    const Held its{.bytes = requested,
                   .requested = requested,
                   .blocks = std::min(blocks.blocks, live.live_count)};
    add(found[*cache], its);
    blocks.requested -= its.requested;
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
      add(held, {.bytes = block.size, .requested = block.requested_size, .blocks = 1});
    }
  }
  ByCache found;
  for (const auto& [site, held] : by_site) {
    add(found, report.sites[static_cast<std::size_t>(site)], held, place, caches);
  }
  std::vector<MapCache> all;
  for (const auto& [number, held] : found) {
    const FrameworkCache& cache = framework_caches()[number];
    if (held.bytes != 0 && cache.cuts_blocks)
      all.push_back({std::string(cache.name), std::string(cache.inside), held.bytes, held.blocks});
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const MapCache& a, const MapCache& b) { return a.bytes > b.bytes; });
  return all;
}

namespace {

// What was free for it; nothing where nobody knows.
std::optional<std::uint64_t> free_for(std::uint64_t limit, const OomEvent& event) {
  if (limit != 0) {
    if (!knows_free_under_limit(event)) return std::nullopt;
    return free_under_limit(limit, event);
  }
  if (event.by_limit || event.total_bytes == 0) return std::nullopt;
  return event.free_bytes;
}

// What is stranded where the request is served from.
std::uint64_t stranded_for(const Report& report, const MapPlace& place, const OomEvent& event) {
  if (!is_for_small_pool(report, event)) return place.stranded_bytes;
  std::uint64_t bytes = 0;
  for (const MapSegment& segment : place.segments) {
    if (segment.pool == MapPool::small) bytes += segment.stranded_bytes();
  }
  return bytes;
}

std::optional<RefusedThere> refused_there(const Report& report, const MapPlace& place,
                                          const MapMoment& moment) {
  const std::optional<OomEvent>& event = moment.refused;
  const bool is_its = event && event->kind == place.kind && event->device == place.device;
  if (!is_its || event->bytes == 0) return std::nullopt;  // 0: nobody knows
  RefusedThere found{.limit = refusing_limit(report, *event)};
  found.free = free_for(found.limit, *event);
  found.stranded = stranded_for(report, place, *event);
  found.is_of_stranding =
      found.free && event->bytes > *found.free && event->bytes - *found.free <= found.stranded;
  found.is_of_policy = is_refused_by_policy(report, *event);
  found.native_safe_serves = native_safe_serves(report, *event);
  return found;
}

// Returns nothing for a refusal: the answer to it says what was free.
std::optional<SampledFree> free_at(const Report& report, const MapPlace& place,
                                   const MapMoment& moment) {
  if (place.kind != Kind::device || place.is_direct() || moment.is_of_trace || moment.refused ||
      is_of_several(report)) {
    return std::nullopt;
  }
  return sampled_free(report, place.device);
}

}  // namespace

std::vector<PlaceAnswer> map_answer(const Report& report, const std::vector<MapPlace>& places,
                                    const MapMoment& moment, const NameFrame& name) {
  std::vector<PlaceAnswer> answers;
  for (const MapPlace& place : places) {
    const DeviceReport* const device = find_device(report, place.device);
    answers.push_back({.place = &place,
                       .caches = caches_in(report, place, name),
                       .refused = refused_there(report, place, moment),
                       .kept_by_pools = device == nullptr ? 0 : device->facts.pool_bytes,
                       .free = free_at(report, place, moment)});
  }
  return answers;
}

}  // namespace vramscope
