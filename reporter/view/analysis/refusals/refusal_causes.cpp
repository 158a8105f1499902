// Looks at what was live when memory ran out.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/refusals/refusal_causes.h"

#include <algorithm>
#include <vector>

#include "reporter/report/report.h"
#include "reporter/view/analysis/leaks/site_owner.h"
#include "reporter/view/analysis/memory_map.h"
#include "reporter/view/analysis/segment_sizes.h"
#include "reporter/view/analysis/subject.h"

namespace vramscope {
namespace {

constexpr std::uint64_t kCountOfHabit = 3;  // of what a place freed: once may be the end

// Several times, so that it is not by chance, though no loop may be behind it.
bool freed_nothing(const Report& report, const Leak& leak) {
  constexpr std::uint64_t kSeveral = 3;
  const SiteTotals& totals = report.sites[leak.share.site].totals;
  return !leak.by_initialiser && totals.live_count >= kSeveral &&
         totals.live_count == totals.total_count;
}

}  // namespace

LeakThen leak_then(const Report& report, const Leaks& leaks, const OomEvent& event) {
  if (asks_for_too_much(report, event) || is_refused_by_policy(report, event)) return {};
  LeakThen found;
  std::uint64_t asked_for = event.requested_bytes + event.direct_bytes;
  std::uint64_t held = event.reserved_bytes + event.direct_bytes + pools_then(event);
  for (const OomShare& share : event.shares) {
    if (is_host(event.kind)) asked_for += share.live_bytes;
    const auto leak = std::find_if(leaks.leaks.begin(), leaks.leaks.end(), [&](const Leak& one) {
      const bool is_its_place = is_host(share.kind) || one.share.device == event.device;
      return is_its_place && one.share.kind == share.kind &&
             static_cast<std::int64_t>(one.share.site) == share.site;
    });
    if (leak == leaks.leaks.end()) continue;
    // A run may be too short, or end too long after, to tell that it grew.
    const bool asks_for_more = share.site == event.site && freed_nothing(report, *leak);
    if (leak->looks != LeakClass::grows && !asks_for_more) continue;
    // What of it lies on the host was not in the way.
    const std::uint64_t there = share.kind == Kind::managed ? event.direct_bytes : UINT64_MAX;
    if (there == 0) continue;
    found.is_growth = found.is_growth && leak->looks == LeakClass::grows;
    // Of the largest: they come first.
    if (!found.rate && leak->looks == LeakClass::grows) found.rate = growth_rate(report, *leak);
    found.bytes += std::min({share.live_bytes, leak->share.bytes, there});
    found.count += std::min(share.live_count, leak->share.count);
    ++found.places;
  }
  // Not where holes of the cache are most of it.
  found.is_most = found.bytes > asked_for / 2 && found.bytes > held / 3;
  const bool would_do = found.is_growth && found.bytes >= event.bytes &&
                        found.bytes >= asked_for / kTenthOfHeld &&
                        found.bytes > event.split_free_bytes;
  return found.is_most || would_do ? found : LeakThen();
}

namespace {

void add_caches(Leaks& leaks, const Report& report, const NameFrame& name) {
  FrameworkCaches caches(report, name);
  for (const OomEvent& event : report.oom.events) {
    for (const OomShare& share : event.shares) {
      const auto at = static_cast<std::size_t>(share.site);
      if (share.site < 0 || at >= report.sites.size()) continue;
      if (leaks.cache_of_site.contains(at)) continue;
      if (const auto cache = caches.of(report.sites[at], share.kind)) {
        leaks.cache_of_site[at] = *cache;
      }
    }
  }
}

}  // namespace

// Names cost time, and only suppressions and caches need them.
Leaks leaks_for_oom(const Report& report, const NameFrame& name) {
  const std::vector<OomEvent>& events = report.oom.events;
  if (events.empty()) return {};
  Leaks all = leaks_of(report, Suppressions(), {});
  add_caches(all, report, name);
  const auto leaked = [&](const OomEvent& event) {
    return leak_then(report, all, event).bytes != 0;
  };
  if (std::none_of(events.begin(), events.end(), leaked)) return all;
  Suppressions usual;  // as `vramscope leaks` leaves out
  usual.add_usual();
  Leaks leaks = leaks_of(report, usual, name);
  leaks.cache_of_site = std::move(all.cache_of_site);
  return leaks;
}

bool grows(const Leaks& leaks, const OomShare& share) {
  return std::any_of(leaks.leaks.begin(), leaks.leaks.end(), [&](const Leak& leak) {
    return leak.looks == LeakClass::grows && leak.share.kind == share.kind &&
           static_cast<std::int64_t>(leak.share.site) == share.site;
  });
}

HeldThen held_then(const Report& report, const OomEvent& event, const Leaks& leaks) {
  HeldThen held;
  for (const OomShare& share : event.shares) {
    const auto site = static_cast<std::size_t>(share.site);
    const bool is_known = share.site >= 0 && site < report.sites.size();
    if (!is_known || is_host(share.kind) != is_host(event.kind) || grows(leaks, share)) continue;
    if (const auto cache = leaks.cache_of_site.find(site); cache != leaks.cache_of_site.end()) {
      held.cache_bytes += share.live_bytes;
      held.cache = framework_caches()[cache->second];
      continue;
    }
    const std::uint64_t made = report.sites[site].totals.total_count;
    const std::uint64_t gone = made - std::min(made, share.live_count);
    if (gone == 0) {
      held.kept_bytes += share.live_bytes;
      ++held.kept_places;
    } else if (gone >= kCountOfHabit && gone > share.live_count) {
      held.temporary_bytes += share.live_bytes;
      ++held.temporary_places;
    }
  }
  return held;
}

std::uint64_t grown_then(const OomEvent& event, const Leaks& leaks) {
  std::uint64_t grown = 0;
  for (const OomShare& share : event.shares) {
    if (is_host(share.kind) == is_host(event.kind) && grows(leaks, share))
      grown += share.live_bytes;
  }
  return grown;
}

bool asks_for_too_much(const Report& report, const OomEvent& event) {
  if (const std::uint64_t limit = refusing_limit(report, event); limit != 0)
    return event.bytes > limit;
  const bool is_known = event.has_details && event.total_bytes != 0;
  return is_known && !is_host(event.kind) && event.bytes > event.total_bytes;
}

std::uint64_t stranded_then(const Report& report, const OomEvent& event) {
  if (!event.has_details || event.bytes == 0 || is_host(event.kind)) return 0;
  const std::uint64_t limit = refusing_limit(report, event);
  if (limit == 0 && (event.by_limit || event.total_bytes == 0)) return 0;
  const std::uint64_t free = limit == 0 ? event.free_bytes : free_under_limit(limit, event);
  const bool would_do = event.bytes > free && event.bytes - free <= event.split_free_bytes;
  const bool is_worth_it = is_fragmented(event.split_free_bytes, event.reserved_bytes);
  // Else a hole that is large enough had served it.
  if (is_for_small_pool(report, event) && event.largest_free_bytes >= event.bytes) return 0;
  return would_do && is_worth_it ? event.split_free_bytes : 0;
}

// On an H200 (driver 580) requests of 2 MiB and of
// 512 KiB were refused with 3.12 MiB free. The simulated device keeps nothing.
std::uint64_t driver_reserve(const Report& report) {
  constexpr std::uint64_t kMeasured = 3328 << 10;
  return report.process.simulated ? 0 : kMeasured;
}

std::uint64_t lacking_then(const OomEvent& event, std::uint64_t free) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 60;  // no sum of such overflows
  if (!event.has_details || event.bytes > kMost) return 0;
  const std::uint64_t needed = (event.bytes + kDriverStep - 1) / kDriverStep * kDriverStep;
  return needed - std::min(needed, free + event.idle_bytes + event.pending_bytes);
}

const OomEvent* looked_at_before(const Report& report, const OomEvent& event) {
  if (is_merged(report) || is_host(event.kind)) return nullptr;
  const OomEvent* found = nullptr;
  for (const OomEvent& other : report.oom.events) {
    if (other.number >= event.number) break;
    const bool is_its = !is_host(other.kind) && other.device == event.device;
    if (other.has_details && is_its) found = &other;
  }
  return found;
}

}  // namespace vramscope
