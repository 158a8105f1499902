// Tells what was never freed apart by when and how it was allocated.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/leaks/leaks.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "allocator/base/place.h"
#include "reporter/view/analysis/leaks/initialisers.h"
#include "reporter/view/analysis/leaks/kept_memory.h"
#include "reporter/view/analysis/leaks/leak_holders.h"
#include "reporter/view/analysis/leaks/time_to_full.h"
#include "reporter/view/analysis/site_growth.h"
#include "reporter/view/analysis/site_usage.h"
#include "reporter/view/analysis/subject.h"

namespace vramscope {
namespace {

constexpr std::size_t kTenths = 10;
constexpr std::size_t kTenthsOfGrowth = 3;  // two may be one busy moment across a border
constexpr std::uint64_t kCountOfGrowth = 3;
constexpr std::uint64_t kTurnsOfGrowth = kLeastPasses;

bool is_all_in(const std::vector<std::uint64_t>& by_age, std::size_t tenth) {
  if (by_age.size() != kTenths || by_age[tenth] == 0) return false;
  return std::count_if(by_age.begin(), by_age.end(), [](auto bytes) { return bytes != 0; }) == 1;
}

// Intervals of Site::live_past that were over when memory last came or went: those after tell
// nothing of a leak, and how many there are depends on when the program ended.
std::size_t intervals_in_use(const Report& report) {
  const TimelineFacts& timeline = report.timeline;
  if (timeline.series.empty() || timeline.past_interval_ns == 0) return SIZE_MAX;  // by order
  std::uint64_t first_ns = UINT64_MAX;  // the bucket of the first allocation: pasts begin there
  std::uint64_t begun_ns = 0;           // the last bucket
  for (const TimelineSeries& series : timeline.series) {
    if (series.highest.empty()) continue;
    const auto used = std::find_if(series.highest.begin(), series.highest.end(),
                                   [](std::uint64_t bytes) { return bytes != 0; });
    const auto before = static_cast<std::uint64_t>(used - series.highest.begin());
    if (used != series.highest.end()) first_ns = std::min(first_ns, series.bucket_ns * before);
    begun_ns = std::max(begun_ns, series.bucket_ns * (series.highest.size() - 1));
  }
  if (first_ns > begun_ns) first_ns = 0;
  return (begun_ns - first_ns) / timeline.past_interval_ns;
}

// How often more was there than at earlier times; of short runs nothing earlier is known. What
// stopped to grow in the first half of the time was filled, not leaked: never.
std::optional<std::uint64_t> rises_of(const Site& site, std::size_t intervals) {
  if (site.live_past.empty() || intervals == 0) return std::nullopt;
  constexpr std::size_t kEnoughForHalves = 6;
  Site used;
  used.totals.live_bytes = site.totals.live_bytes;
  used.live_past = site.live_past;
  used.live_past.resize(std::min(intervals, site.live_past.size()));
  const std::size_t count = used.live_past.size();
  const bool is_filled =
      count >= kEnoughForHalves && used.live_past[count / 2 - 1] == used.totals.live_bytes;
  return is_filled ? 0 : growth_of(used).rises;
}

// How often the program itself says that a part of the run came in which all of it was allocated,
// by a range or a mark; and which of them says so. 0: none that repeats.
struct Passes {
  std::uint64_t count = 0;
  GrowthUnit unit = GrowthUnit::call;
};
Passes passes_of(const Site& site) {
  if (site.live_passes >= kLeastPasses) return {site.live_passes, GrowthUnit::pass};
  if (site.live_marks >= kLeastPasses) return {site.live_marks, GrowthUnit::mark};
  return {};
}
bool repeats(const Site& site) { return passes_of(site).count != 0; }

// What came all in one go, or stopped to come long before the end: it was allocated for good, and
// no part of the run that repeats was seen to add to it. Reports of earlier versions do not tell.
bool is_held_since(const Report& report, const Site& site) {
  constexpr std::uint64_t kTurnsMissed = 8;
  if (site.live_turns == 0) return false;
  const std::uint64_t turns =
      std::max(site.live_turns, std::min(passes_of(site).count, site.totals.live_count));
  if (turns < kTurnsOfGrowth) return true;
  const std::uint64_t all = report.timeline.allocations;
  if (site.live_last == 0 || all <= site.live_last) return false;
  const std::uint64_t each = (site.live_last - site.live_first) / (turns - 1);
  return all - site.live_last > kTurnsMissed * each;
}

// What a report tells of who allocated at a place, of a merged one of which processes.
struct LeakedPlace {
  LeakedPlace(const Report& report, const Share& share, const LeakHolders& all,
              std::size_t past_intervals)
      : site(report.sites[share.site]),
        is_held(is_held_since(report, site)),
        intervals(past_intervals),
        holders(all.of(share)),
        processes(report.processes.size()) {}
  const Site& site;
  bool is_held;                     // see is_held_since()
  std::size_t intervals;            // of its past that count
  std::vector<LeakHolder> holders;  // empty: of one process, or the report does not tell
  std::size_t processes;
};

std::uint64_t freed_count(const Site& site) {
  return site.totals.total_count - std::min(site.totals.total_count, site.totals.live_count);
}

// Each process that holds nothing may have allocated there once, and freed it.
bool may_be_all_that_was_allocated(const LeakedPlace& place) {
  const std::uint64_t others = place.holders.empty() ? 0 : place.processes - place.holders.size();
  return freed_count(place.site) <= others;
}

// In how many tenths of its own run the holder allocated it. 0: not known. A merged report without
// that figure has the tenths of all holders, which are those of one that holds everything.
std::uint64_t tenths_of(const LeakedPlace& place, const Leak& leak, const LeakHolder& holder) {
  const bool is_all = holder.count == leak.share.count;
  return holder.tenths.value_or(is_all ? tenths_of_growth(place.site) : 0);
}

// The same of the process of the report; of several, of that which did so in most tenths.
std::size_t most_tenths(const LeakedPlace& place, const Leak& leak) {
  if (place.processes < 2) return tenths_of_growth(place.site);
  std::uint64_t most = 0;
  for (const LeakHolder& holder : place.holders)
    most = std::max(most, tenths_of(place, leak, holder));
  return static_cast<std::size_t>(most);
}

// Whether one process allocated several of them all along its own run.
bool is_spread(const LeakedPlace& place, const Leak& leak) {
  if (place.is_held) return false;
  const auto is_all_along = [](std::uint64_t tenths, std::uint64_t count) {
    return tenths >= kTenthsOfGrowth && count >= kCountOfGrowth;
  };
  if (place.holders.empty()) return is_all_along(leak.tenths, leak.share.count);
  return std::any_of(place.holders.begin(), place.holders.end(), [&](const LeakHolder& holder) {
    return is_all_along(tenths_of(place, leak, holder), holder.count);
  });
}

LeakClass class_of(const LeakedPlace& place, const Leak& leak) {
  const Site& site = place.site;
  if (leak.by_initialiser) return LeakClass::kept;
  const std::optional<std::uint64_t> rises = rises_of(site, place.intervals);
  if (is_spread(place, leak) && rises.value_or(2) > 1) return LeakClass::grows;
  // One buffer, freed and allocated anew, larger each time.
  const bool is_one_buffer =
      leak.share.count == 1 && place.holders.empty() && freed_count(site) >= kCountOfGrowth;
  if (is_one_buffer && rises.value_or(0) >= kTenthsOfGrowth) return LeakClass::grows;
  const bool is_first = is_all_in(site.live_by_age, 0);
  if (is_first && may_be_all_that_was_allocated(place)) return LeakClass::kept;
  return is_all_in(site.live_by_age, kTenths - 1) ? LeakClass::late : LeakClass::left;
}

template <class Row>
void put_largest_first(std::vector<Row>& rows) {
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return a.bytes > b.bytes; });
}

// Adds the share to the row that `is_its` finds, or to a new one.
template <class Row, class Added, class IsIts>
void count(std::vector<Row>& rows, const Row& empty, const Added& added, IsIts is_its) {
  auto row = std::find_if(rows.begin(), rows.end(), is_its);
  if (row == rows.end()) row = rows.insert(row, empty);
  row->bytes += added.bytes;
  row->count += added.count;
  ++row->sites;
}

template <class Row>
void count_kept(std::vector<Row>& rows, const KeptPart& part) {
  count(rows, Row{.row = part.row}, part, [&](const Row& row) { return row.row == part.row; });
}

// Of what kinds hold now, what no site has; where stacks were sampled nobody can tell.
std::uint64_t without_site_bytes(const Report& report) {
  if (report.sample_bytes != 0) return 0;
  std::uint64_t of_kinds = 0;
  std::uint64_t of_sites = 0;
  for (const KindFacts& kind : report.kinds) {
    if (holds_memory(kind.kind)) of_kinds += kind.current_bytes;
  }
  for (const Site& site : report.sites) {
    for (const SitePart& part : site.parts) {
      if (holds_memory(part.kind)) of_sites += part.totals.live_bytes;
    }
  }
  return of_kinds - std::min(of_kinds, of_sites);
}

}  // namespace

std::optional<GrowthRate> growth_rate(const Report& report, const Leak& leak) {
  const Share& share = leak.share;
  const Site& site = report.sites[share.site];
  const bool grows = leak.looks == LeakClass::grows && !leak.by_initialiser;
  if (!grows || share.count == 0 || site.live_turns == 0) return std::nullopt;
  const Passes passes = passes_of(site);
  GrowthRate rate{.unit = passes.unit};
  const std::uint64_t parts =
      passes.count != 0 ? passes.count : std::max(site.totals.total_count, share.count);
  const std::uint64_t growths = std::min(share.count, parts);  // several blocks each, perhaps
  rate.bytes = share.bytes / growths;
  rate.periods = std::max<std::uint64_t>((parts + growths / 2) / growths, 1);
  if (rate.unit == GrowthUnit::pass) rate.name = site.live_range;
  if (rate.unit == GrowthUnit::mark) rate.name = site.live_mark;
  rate.full_in_ns = full_in_ns(report, share);
  return rate;
}

std::uint64_t leaked_bytes(const Leaks& leaks) {
  std::uint64_t bytes = leaks.without_site;
  for (const LeakedMemory& memory : leaks.memory) bytes += memory.bytes;
  return bytes;
}

std::uint64_t suppressed_bytes(const Leaks& leaks) {
  std::uint64_t bytes = 0;
  for (const UsedSuppression& used : leaks.suppressed) bytes += used.bytes;
  return bytes;
}

std::uint64_t cached_bytes(const Leaks& leaks) {
  std::uint64_t bytes = 0;
  for (const HeldByCache& held : leaks.caches) bytes += held.bytes;
  return bytes;
}

Leaks leaks_of(const Report& report, const Suppressions& suppressions, const NameFrame& name) {
  Leaks result;
  KeptMemory kept(report, suppressions, name);
  Initialisers initialisers(report, name);
  result.left_shares = left_shares(report, kept);
  const LeakHolders holders(report, result.left_shares);
  const std::size_t intervals = intervals_in_use(report);
  for (Share share : shares_alive(report)) {
    const Site& site = report.sites[share.site];
    for (const KeptPart& part : kept.of(share)) {
      share.bytes -= part.bytes;
      share.count -= part.count;
      part.by_cache ? count_kept(result.caches, part) : count_kept(result.suppressed, part);
    }
    if (share.bytes == 0 && share.count == 0) continue;
    Leak leak{
        .share = share,
        .looks = LeakClass::left,
        .by_initialiser = initialisers.are_above(site),
        .is_in_one_go = site.live_turns == 1 && !repeats(site) && share.count >= kCountOfGrowth};
    const LeakedPlace place(report, share, holders, intervals);
    leak.tenths = most_tenths(place, leak);
    leak.looks = class_of(place, leak);
    leak.may_be_repeated = place.processes > 1 && !leak.by_initialiser && freed_count(site) != 0 &&
                           is_all_in(site.live_by_age, 0);
    result.leaks.push_back(leak);
    count(result.memory, LeakedMemory{.kind = share.kind, .device = share.device}, share,
          [&](const LeakedMemory& memory) {
            return memory.kind == share.kind && memory.device == share.device;
          });
  }
  std::stable_sort(result.leaks.begin(), result.leaks.end(), [&](const Leak& a, const Leak& b) {
    const auto key = [&](const Leak& one) {
      return std::tuple(one.looks, ~one.share.bytes, report.sites[one.share.site].live_first);
    };
    return key(a) < key(b);
  });
  put_largest_first(result.memory);
  put_largest_first(result.suppressed);
  put_largest_first(result.caches);
  result.without_site = without_site_bytes(report);
  result.left = left_by_each(report, result.left_shares, leaked_bytes(result));
  return result;
}

bool leaks_lead(const Report& report, const Leaks& leaks) {
  if (!is_final(report)) return false;
  std::uint64_t left = 0;
  for (const Leak& leak : leaks.leaks) {
    const bool counts = leak.looks == LeakClass::grows || leak.looks == LeakClass::left;
    if (counts) left += leak.share.bytes;
  }
  std::uint64_t peak = 0;
  for (const KindFacts& kind : kinds_by_peak(report)) peak += kind.peak_bytes;
  return left != 0 && left >= peak / 2;
}

}  // namespace vramscope
