// Looks into the sums of a report.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "reporter/report/report.h"
#include "reporter/report/reserved_memory.h"
#include "reporter/report/trigger.h"
#include "reporter/view/analysis/advice/advice.h"
#include "reporter/view/analysis/leaks/framework_caches.h"
#include "reporter/view/analysis/memory_map.h"
#include "reporter/view/analysis/peaks/peak_caches.h"
#include "reporter/view/analysis/report_figures.h"
#include "reporter/view/analysis/site_usage.h"

namespace vramscope {
namespace {

constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20;
constexpr std::uint64_t kLeastBytes = 16 * kMebibyte;  // less is not worth a person's time
constexpr std::uint64_t kLeastShare = 20;              // nor is less than a twentieth of the peak
constexpr std::uint64_t kLeastTimeShare = 100;         // of the run; less time is lost in its noise
constexpr std::uint64_t kPage = 2 * kMebibyte;         // of the driver, for requests above kSmall
constexpr std::uint64_t kSmall = kMebibyte;
constexpr std::uint64_t kManyTimes = 100;  // allocations of a loop
constexpr std::uint64_t kPinnedTimes = 16;
constexpr std::size_t kSitesNamed = 8;

bool is_worth(std::uint64_t bytes, std::uint64_t peak) {
  return bytes >= kLeastBytes && bytes >= peak / kLeastShare;
}

void keep_largest(std::vector<AdviceSite>& sites) {
  std::stable_sort(sites.begin(), sites.end(),
                   [](const AdviceSite& a, const AdviceSite& b) { return a.bytes > b.bytes; });
  sites.resize(std::min(sites.size(), kSitesNamed));
}

std::uint64_t peak_of(const Report& report, Kind kind, std::uint16_t device) {
  for (const KindFacts& facts : report.kinds) {
    if (facts.kind == kind && facts.device == device) return facts.peak_bytes;
  }
  return 0;
}

// What a program frees as it ends grows all the same: the live bytes of such a site rose in most
// intervals of the run, and never fell before the last one. Intervals are measured in allocations:
// where most are the site's own, it may have allocated all in one go.
struct Rising {
  std::uint64_t rises = 0;
  std::uint64_t intervals = 0;
  bool has_fallen = false;
  std::uint64_t first_bytes = 0;  // at the end of the first interval
  std::uint64_t last_bytes = 0;
};
Rising rising_of(const Site& site) {
  Rising rising;
  for (const std::uint64_t live : site.live_past) {
    if (rising.intervals == 0 && live == 0) continue;
    if (++rising.intervals == 1) rising.first_bytes = live;
    rising.rises += live > rising.last_bytes ? 1 : 0;
    rising.has_fallen = rising.has_fallen || live < rising.last_bytes;
    rising.last_bytes = live;
  }
  return rising;
}

bool only_grows(const Rising& rising, const SiteTotals& totals) {
  constexpr std::uint64_t kLeastIntervals = 4;
  constexpr std::uint64_t kLeastCount = 8;
  return !rising.has_fallen && rising.intervals >= kLeastIntervals &&
         rising.rises >= rising.intervals * 3 / 4 && totals.peak_count >= kLeastCount &&
         rising.first_bytes <= rising.last_bytes / 2;
}

void add_freed_at_end(std::vector<Advice>& all, const Report& report, const NameFrame& name) {
  FrameworkCaches caches(report, name);
  for (const SiteUsage& usage : usage_by_site(report)) {
    const Site& site = report.sites[usage.site];
    const SiteTotals& totals = usage.totals;
    const std::uint64_t peak = peak_of(report, usage.kind, usage.device);
    if (site.parts.size() != 1 || totals.live_count != 0 || !is_worth(totals.peak_bytes, peak)) {
      continue;
    }
    const Rising rising = rising_of(site);
    if (totals.total_count > report.timeline.allocations / 3) continue;
    if (!only_grows(rising, totals) || caches.of(site, usage.kind)) continue;
    all.push_back(
        {.what = FindingKind::grows,
         .saves_bytes = totals.peak_bytes,
         .kind = usage.kind,
         .device = usage.device,
         .sites = {{static_cast<std::int64_t>(usage.site), totals.peak_bytes, totals.peak_count}},
         .whole_bytes = peak,
         .count = totals.peak_count,
         .of_count = totals.total_count,
         .rises = rising.rises,
         .intervals = rising.intervals});
  }
}

// Each pool keeps idle memory that the other cannot use; how much, only the pools know.
void add_pools(std::vector<Advice>& all, const Report& report, const NameFrame& name) {
  std::map<std::pair<Kind, std::uint16_t>, std::vector<AdviceParty>> pools;
  for (const CacheAtPeak& one : caches_at_peak(report, name)) {
    if (!takes_device_memory(one.kind.kind) || !is_worth(one.bytes, one.kind.peak_bytes)) continue;
    pools[{one.kind.kind, one.kind.device}].push_back({std::string(one.cache.name), one.bytes});
  }
  for (auto& [memory, parties] : pools) {
    if (parties.size() < 2) continue;
    Advice advice{.what = FindingKind::two_pools,
                  .sure = Certainty::at_most,
                  .kind = memory.first,
                  .device = memory.second};
    for (std::size_t i = 1; i < parties.size(); ++i) advice.saves_bytes += parties[i].bytes;
    advice.parties = std::move(parties);
    advice.whole_bytes = peak_of(report, memory.first, memory.second);
    all.push_back(std::move(advice));
  }
}

// Whether each large request takes whole pages of the driver for itself: not in the file of another
// tool, whose allocator is its own.
bool takes_whole_pages(const Report& report) {
  constexpr std::string_view kModes[] = {"cache", "dedicated", "observe"};
  const bool is_own = std::ranges::count(kModes, report.process.mode) != 0;
  return is_own && !cuts_large_segments(report) &&
         allocator_setting(report, "expandable_segments").empty() &&
         allocator_setting(report, "growing_segments").empty();
}

// What rounding adds to the live bytes of a site at the peak, where its requests are alike: their
// average is then near each of them.
std::uint64_t rounded_by(const Site& site, const SiteTotals& totals) {
  const auto used = std::count_if(site.sizes.begin(), site.sizes.end(),
                                  [](std::uint64_t count) { return count != 0; });
  if (used != 1 || totals.peak_count == 0 || site.parts.size() != 1) return 0;
  const std::uint64_t bytes = totals.peak_bytes / totals.peak_count;
  if (bytes <= kSmall) return 0;
  return ((bytes + kPage - 1) / kPage * kPage - bytes) * totals.peak_count;
}

void add_rounding(std::vector<Advice>& all, const Report& report) {
  if (!takes_whole_pages(report)) return;
  std::map<std::uint16_t, Advice> devices;
  for (const SiteUsage& usage : usage_by_site(report)) {
    if (usage.kind != Kind::device) continue;
    const std::uint64_t bytes = rounded_by(report.sites[usage.site], usage.totals);
    if (bytes == 0) continue;
    Advice& advice = devices[usage.device];
    advice.saves_bytes += bytes;
    advice.count += usage.totals.peak_count;
    advice.sites.push_back({static_cast<std::int64_t>(usage.site), bytes, usage.totals.peak_count});
  }
  for (auto& [device, advice] : devices) {
    advice.what = FindingKind::rounded;
    advice.sure = Certainty::about;
    advice.device = device;
    advice.whole_bytes = peak_of(report, Kind::device, device);
    if (!is_worth(advice.saves_bytes, advice.whole_bytes)) continue;
    keep_largest(advice.sites);
    all.push_back(std::move(advice));
  }
}

// The time of a run that its calls are compared with.
std::uint64_t least_time(const Report& report) {
  return std::max<std::uint64_t>(1, report.timeline.duration_ns / kLeastTimeShare);
}

// What remains if memory is kept that was allocated `kept` times, not anew each time. Calls of a
// site take about equally long.
std::uint64_t time_saved(const SiteTotals& totals, std::uint64_t kept) {
  if (totals.total_count <= kept) return 0;
  const std::uint64_t each = totals.total_ns / totals.total_count;
  return each * (totals.total_count - kept);
}

Advice repeated(const SiteUsage& usage, FindingKind what, std::uint64_t count) {
  return {.what = what,
          .sure = Certainty::about,
          .kind = usage.kind,
          .device = usage.device,
          .sites = {{static_cast<std::int64_t>(usage.site), usage.totals.total_bytes,
                     usage.totals.total_count}},
          .count = count,
          .of_count = usage.totals.total_count};
}

// The shortest time, a power of ten, below which nine of ten allocations of a site lived; and how
// many. Nothing: they live longer than a hundredth of the run.
struct BriefLives {
  std::uint64_t below_ns = 0;
  std::uint64_t count = 0;
};
std::optional<BriefLives> brief_lives(const Report& report, const Site& site) {
  BriefLives lives{.below_ns = 1000};
  for (const std::uint64_t count : site.lifetimes) {
    if (lives.below_ns > report.timeline.duration_ns / kLeastTimeShare) return std::nullopt;
    lives.count += count;
    if (lives.count >= site.totals.total_count - site.totals.total_count / 10) return lives;
    lives.below_ns *= 10;
  }
  return std::nullopt;
}

// The parts of a site of several kinds do not tell whose lives are brief.
void add_repeated(std::vector<Advice>& all, const Report& report) {
  for (const SiteUsage& usage : usage_by_site(report)) {
    const Site& site = report.sites[usage.site];
    const SiteTotals& totals = usage.totals;
    if (is_host(usage.kind)) {
      const std::uint64_t kept = std::max<std::uint64_t>(1, totals.peak_count);
      const std::uint64_t saved = time_saved(totals, kept);
      const bool is_again = totals.total_count >= kPinnedTimes && totals.total_count / 4 >= kept &&
                            totals.total_count / 4 >= totals.live_count;
      if (!is_again || saved < least_time(report)) continue;
      all.push_back(repeated(usage, FindingKind::pinned_again, kept));
      all.back().saves_ns = saved;
      continue;
    }
    const bool is_loop = site.parts.size() == 1 && totals.total_count >= kManyTimes;
    const std::optional<BriefLives> lives =
        is_loop ? brief_lives(report, site) : std::optional<BriefLives>();
    const std::uint64_t saved = lives ? time_saved(totals, 1) : 0;
    if (!lives || saved < least_time(report)) continue;
    all.push_back(repeated(usage, FindingKind::temporary, lives->count));
    all.back().saves_ns = saved;
    all.back().lived_ns = lives->below_ns;
  }
}

// Those of the small pool in which memory is stranded.
struct SmallSegments {
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  std::uint64_t stranded = 0;
};
SmallSegments small_segments_of(const MapPlace& place) {
  SmallSegments all;
  for (const MapSegment& segment : place.segments) {
    if (segment.pool != MapPool::small || segment.stranded_bytes() == 0) continue;
    ++all.count;
    all.bytes += segment.facts->total_size;
    all.stranded += segment.stranded_bytes();
  }
  return all;
}

}  // namespace

void put_largest_first(std::vector<Advice>& all) {
  const auto rank = [](const Advice& advice) {
    return std::tuple(advice.saves_bytes, advice.saves_ns);
  };
  std::stable_sort(all.begin(), all.end(),
                   [&](const Advice& a, const Advice& b) { return rank(a) > rank(b); });
}

std::vector<Advice> advice_of_map(const std::vector<MapPlace>& places) {
  std::vector<Advice> all;
  for (const MapPlace& place : places) {
    if (place.kind != Kind::device || !is_fragmented(place.stranded_bytes, place.total_bytes) ||
        place.stranded_bytes < kLeastBytes) {
      continue;
    }
    Advice advice{.sure = Certainty::at_most,
                  .kind = place.kind,
                  .device = place.device,
                  .whole_bytes = place.total_bytes};
    const MapPinner* const first = place.pinners.empty() ? nullptr : &place.pinners.front();
    const bool is_of_one = first != nullptr && first->stranded_bytes >= place.stranded_bytes / 2 &&
                           first->stranded_bytes >= first->block_bytes;
    const SmallSegments small = small_segments_of(place);
    if (is_of_one) {
      advice.what = FindingKind::fragmented;
      advice.saves_bytes = first->stranded_bytes;
      advice.count = first->segments;
      advice.sites = {{first->site, first->block_bytes, first->blocks}};
    } else if (small.stranded >= place.stranded_bytes / 2 && small.stranded >= small.bytes / 2) {
      advice.what = FindingKind::small_segments;
      advice.saves_bytes = small.stranded;
      advice.count = small.count;
      for (const MapPinner& pinner : place.pinners) {
        advice.sites.push_back({pinner.site, pinner.block_bytes, pinner.blocks});
      }
      keep_largest(advice.sites);
    }
    if (advice.saves_bytes >= kLeastBytes) all.push_back(std::move(advice));
  }
  return all;
}

bool has_telling_segments(const Report& report) {
  switch (trigger_of(report)) {
    case Trigger::oom:
    case Trigger::peak:
    case Trigger::growth:
    case Trigger::signal:
    case Trigger::control:
    case Trigger::interval:
    case Trigger::imported:
      return true;
    default:
      return false;
  }
}

// A place that grows by less than a hundredth of the peak may be told by `leaks`.
std::vector<Advice> growing_in(const Report& report, const NameFrame& name) {
  Suppressions usual;
  usual.add_usual();
  std::vector<Advice> all;
  for (const Leak& leak : leaks_of(report, usual, name).leaks) {
    const Share& share = leak.share;
    const std::uint64_t peak = peak_of(report, share.kind, share.device);
    if (leak.looks != LeakClass::grows || share.bytes < kMebibyte || share.bytes < peak / 100) {
      continue;
    }
    all.push_back({.what = FindingKind::grows,
                   .saves_bytes = share.bytes,
                   .kind = share.kind,
                   .device = share.device,
                   .sites = {{static_cast<std::int64_t>(share.site), share.bytes, share.count}},
                   .whole_bytes = peak,
                   .count = share.count,
                   .of_count = report.sites[share.site].totals.total_count,
                   .rate = growth_rate(report, leak)});
  }
  return all;
}

std::vector<Advice> advice_of_report(const Report& report, const NameFrame& name) {
  std::vector<Advice> all = growing_in(report, name);
  if (trigger_of(report) != Trigger::trace) add_freed_at_end(all, report, name);
  add_pools(all, report, name);
  add_rounding(all, report);
  add_repeated(all, report);
  if (has_telling_segments(report)) {
    for (Advice& advice : advice_of_map(memory_map(report))) all.push_back(std::move(advice));
  }
  put_largest_first(all);
  return all;
}

}  // namespace vramscope
