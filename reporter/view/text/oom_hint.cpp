// Judges why memory ran out: a leak, fragmentation, a limit, others, or what the program holds.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string_view>
#include <vector>

#include "allocator/ground/driver_pages.h"
#include "interpose/settings/options.h"
#include "reporter/report/options_of.h"
#include "reporter/report/report.h"
#include "reporter/view/analysis/digest.h"
#include "reporter/view/analysis/leaks/framework_caches.h"
#include "reporter/view/analysis/leaks/leaks.h"
#include "reporter/view/analysis/leaks/site_owner.h"
#include "reporter/view/analysis/memory_map.h"
#include "reporter/view/analysis/segment_sizes.h"
#include "reporter/view/analysis/subject.h"
#include "reporter/view/text/oom_policy.h"
#include "reporter/view/text/oom_text.h"
#include "reporter/view/text/report_text.h"
#include "reporter/view/text/words.h"

namespace vramscope {
namespace {

constexpr std::uint64_t kTenthOfHeld = 10;  // rounding and leaks are named from there on

// Several times, so that it is not by chance, though no loop may be behind it.
bool freed_nothing(const Report& report, const Leak& leak) {
  constexpr std::uint64_t kSeveral = 3;
  const SiteTotals& totals = report.sites[leak.share.site].totals;
  return !leak.by_initialiser && totals.live_count >= kSeveral &&
         totals.live_count == totals.total_count;
}

std::uint64_t counted_then(const OomEvent& event) {
  return event.counted_bytes != 0 ? event.counted_bytes : counted_when_looked(event);
}

}  // namespace

std::uint64_t counted_when_looked(const OomEvent& event) {
  return event.reserved_bytes + event.direct_bytes + event.rounding_bytes + event.context_bytes +
         event.module_bytes;
}

bool is_observed(const Report& report) { return report.process.mode == "observe"; }

std::uint64_t refusing_limit(const Report& report, const OomEvent& event) {
  CapacityOption limits;
  if (!event.by_limit || event.device >= limits.bytes.size()) return 0;
  return read(option_of(report, "device_memory_limit"), limits) ? limits.bytes[event.device] : 0;
}

std::uint64_t free_under_limit(std::uint64_t limit, const OomEvent& event) {
  return limit - std::min(limit, counted_then(event));
}

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
    if (found.rate.empty() && leak->looks == LeakClass::grows) {
      // Of the largest: they come first.
      if (const auto rate = growth_rate(report, *leak)) found.rate = harmless(rate_text(*rate));
    }
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
      const Site& site = report.sites[at];
      for (const SitePart& part : site.parts) {
        if (part.kind != share.kind || leaks.cache_of_site.contains(at)) continue;
        if (const auto cache = caches.of(first_stack(site), part)) leaks.cache_of_site[at] = *cache;
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

namespace {

// Behind a hint that blames what the program held.
std::string rounding_clause(const OomEvent& event) {
  const std::uint64_t rounding = event.allocated_bytes -
                                 std::min(event.allocated_bytes, event.requested_bytes) +
                                 event.rounding_bytes;
  const std::uint64_t held = event.reserved_bytes + event.direct_bytes + event.rounding_bytes;
  if (rounding == 0 || rounding < held / kTenthOfHeld) return "";
  return "; rounding took " + amount_text(rounding) + " of what was held";
}

// Behind one that blames a leak: what the cache holds in pieces would have done for this request.
std::string stranded_clause(const Report& report, const OomEvent& event) {
  const std::uint64_t stranded = stranded_then(report, event);
  return stranded == 0 ? "" : "; " + amount_text(stranded) + " were free, in pieces";
}

// Behind one that names no other policy: what that of PyTorch withholds.
std::string policy_clause(const Report& report, const OomEvent& event) {
  if (native_safe_serves(report, event)) {
    return "; --policy native-safe, the default, would have served it";
  }
  const bool withholds = event.has_details && event.native_free_bytes > event.free_bytes;
  if (!withholds || option_of(report, "policy") != "pytorch") return "";
  return "; --policy pytorch keeps what is freed: native-safe, the default, can serve more";
}

// What the driver keeps of the last free memory: on an H200 (driver 580) requests of 2 MiB and of
// 512 KiB were refused with 3.12 MiB free. The simulated device keeps nothing.
std::uint64_t driver_reserve(const Report& report) {
  constexpr std::uint64_t kMeasured = 3328 << 10;
  return report.process.simulated ? 0 : kMeasured;
}

// How much more, free, would have served the request, in the driver's pages; 0: as much was there,
// or nobody knows. What is idle is given back first: it became so since.
std::uint64_t lacking_then(const OomEvent& event, std::uint64_t free) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 60;  // no sum of such overflows
  if (!event.has_details || event.bytes > kMost) return 0;
  const std::uint64_t needed = (event.bytes + kDriverStep - 1) / kDriverStep * kDriverStep;
  return needed - std::min(needed, free + event.idle_bytes + event.pending_bytes);
}

// "; a limit of 580 MiB would have been enough", rounded up to what can be typed.
std::string enough_clause(const Report& report, const OomEvent& event) {
  constexpr std::uint64_t kMebibyte = 1 << 20;
  const std::uint64_t limit = refusing_limit(report, event);
  const std::uint64_t lacking =
      limit == 0 ? 0 : lacking_then(event, free_under_limit(limit, event));
  if (lacking == 0) return "";
  // Contexts are never refused, and may alone have more than the limit.
  const std::uint64_t at_least = std::max(limit, counted_then(event)) + lacking;
  const std::uint64_t enough = (at_least + kMebibyte - 1) / kMebibyte;
  const bool takes_more = option_of(report, "policy") == "pytorch";  // segments of 20 MiB
  return (takes_more ? "; a limit of at least " : "; a limit of ") + count_text(enough) +
         " MiB would have been enough";
}

std::string lacking_clause(const Report& report, const OomEvent& event) {
  const std::uint64_t kept = std::min(event.free_bytes, driver_reserve(report));
  const std::uint64_t lacking = lacking_then(event, event.free_bytes - kept);
  return lacking == 0 ? "" : "; " + amount_text(lacking) + " more, free, would have been enough";
}

// Behind what grows nothing is enough for long.
std::string of_rate(const LeakThen& leak) { return leak.rate.empty() ? "" : ", " + leak.rate; }

// No leak and no hole is why; "" where that much could have been free.
std::string hint_of_size(const Report& report, const OomEvent& event) {
  if (const std::uint64_t limit = refusing_limit(report, event); limit != 0) {
    if (event.bytes <= limit) return "";
    return "it asks for more than the whole limit of --device-memory-limit" +
           enough_clause(report, event);
  }
  const bool is_known = event.has_details && event.total_bytes != 0;
  if (!is_known || is_host(event.kind) || event.bytes <= event.total_bytes) return "";
  return "it asks for more than the whole GPU has (" + amount_text(event.total_bytes) + ")";
}

// ": 900 MiB of 1 place that freed nothing", and whether what was temporary is why.
std::string held_clause(const HeldThen& held, std::uint64_t lacking) {
  const std::string text = held_text(held);
  if (text.empty()) return "";
  const bool overlaps = lacking != 0 && held.temporary_bytes >= lacking;
  return ": " + text +
         (overlaps ? ", which overlapped: freed before, it would have been enough" : "");
}

std::string hint_of_limit(const Report& report, const OomEvent& event, const Leaks& leaks) {
  const std::string policy = policy_clause(report, event);
  if (const std::uint64_t stranded = stranded_then(report, event); stranded != 0) {
    return "fragmentation: with the " + amount_text(stranded) +
           " free in pieces the limit would have had enough" +
           (event.pins.empty() ? "" : "; HELD BY names what pins them") + policy;
  }
  if (is_for_small_pool(report, event) && event.largest_free_bytes >= event.bytes) {
    return "fragmentation: " + amount_text(event.split_free_bytes) +
           " were free, but in segments for requests above 1.00 MiB, from which --policy pytorch "
           "serves no smaller one" +
           policy;
  }
  const std::uint64_t live = event.allocated_bytes + event.direct_bytes;
  const std::uint64_t limit = refusing_limit(report, event);
  const std::uint64_t lacking =
      limit == 0 ? 0 : lacking_then(event, free_under_limit(limit, event));
  return "the limit of --device-memory-limit refused it, not the GPU" +
         (live == 0 ? "" : "; " + amount_text(live) + " were live") +
         (live == 0 ? "" : held_clause(held_then(report, event, leaks), lacking)) +
         rounding_clause(event) + enough_clause(report, event) + policy;
}

// Blocks that live in pages of a pool keep these there.
bool has_live_in_pools(const OomEvent& event) {
  return std::any_of(event.shares.begin(), event.shares.end(), [](const OomShare& share) {
    return share.kind == Kind::stream_ordered && share.live_bytes != 0;
  });
}

// "the driver's pools kept 40 MiB, freed by cudaFreeAsync: synchronize its streams before". Of what
// they do not count as used waiting frees nothing.
std::string pools_text(const OomEvent& event, const std::string& how_much) {
  const std::uint64_t pending = std::min(event.pool_pending_bytes, pools_then(event));
  const char* const what = pending == pools_then(event) ? "synchronize its streams before"
                           : pending == 0
                               ? "trim them before (cudaMemPoolTrimTo)"
                               : "synchronize its streams and trim them before (cudaMemPoolTrimTo)";
  return "the driver's pools kept" + how_much + ", freed by cudaFreeAsync: " + what;
}

std::string pools_clause(const OomEvent& event) {
  const std::uint64_t pools = pools_then(event);
  return pools == 0 ? "" : "; " + pools_text(event, " " + amount_text(pools));
}

// Where what the pools kept would have served it.
std::string hint_of_pools(const OomEvent& event) {
  const std::uint64_t pools = pools_then(event);
  const std::uint64_t lacking = lacking_then(event, event.free_bytes);
  if (lacking == 0 || lacking > pools) return "";
  return pools_text(event, " " + amount_text(pools)) +
         (has_live_in_pools(event) ? ", and there is enough, unless blocks in use share its pages"
                                   : ", and there is enough");
}

// Of what was held, what places held that allocate all along and do not free.
std::uint64_t grown_then(const OomEvent& event, const Leaks& leaks) {
  std::uint64_t grown = 0;
  for (const OomShare& share : event.shares) {
    if (is_host(share.kind) == is_host(event.kind) && grows(leaks, share))
      grown += share.live_bytes;
  }
  return grown;
}

// Whoever had the most of what was used.
std::string hint_of_holders(const Report& report, const OomEvent& event, const Leaks& leaks) {
  const std::uint64_t ours = event.allocated_bytes + event.direct_bytes + event.rounding_bytes;
  const std::uint64_t own = own_outside(event);
  const std::uint64_t pools = pools_then(event);
  const std::uint64_t others = event.outside_bytes - own - pools;
  if (pools > ours && pools > own && pools > others) return pools_text(event, " most of it");
  if (others > ours && others > own) {
    return "most of it is held by others: vramscope owners, or nvidia-smi" + pools_clause(event);
  }
  if (own > ours) {
    const char* const what = event.module_bytes == 0    ? "contexts"
                             : event.context_bytes == 0 ? "code"
                                                        : "contexts and code";
    const std::string held = what + std::string(" of this process hold most of it: ") +
                             amount_text(own) + ", as vramscope owners tells";
    const std::uint64_t grown = grown_then(event, leaks);
    const bool is_leak = grown != 0 && grown >= ours / kTenthOfHeld;
    return (is_leak ? amount_text(grown) + " grew to the end: vramscope leaks names the places; "
                    : "") +
           held + pools_clause(event);
  }
  if (event.rounding_bytes > event.allocated_bytes + event.direct_bytes) {
    return "most of it is free in the driver's pages of 2 MiB, which small allocations that live "
           "keep: see what was live" +
           lacking_clause(report, event) + pools_clause(event);
  }
  const HeldThen then = held_then(report, event, leaks);
  if (then.cache_bytes > ours / 2) {
    return "most of it is held by " + std::string(then.cache.name) +
           ", in use or free inside of it" +
           (then.cache.inside.empty() ? "" : "; to see inside: ") + std::string(then.cache.inside) +
           pools_clause(event);
  }
  const std::string held = held_clause(then, lacking_then(event, event.free_bytes));
  return "the program itself holds most of it" + (held.empty() ? ":" : held + ";") +
         " see what was live, and vramscope peak" + rounding_clause(event) +
         lacking_clause(report, event) + pools_clause(event);
}

}  // namespace

bool asks_for_too_much(const Report& report, const OomEvent& event) {
  return !hint_of_size(report, event).empty();
}

std::string hint_for(const Report& report, const OomEvent& event, const Leaks& leaks) {
  if (std::string hint = hint_of_size(report, event); !hint.empty()) return hint;
  if (std::string hint = hint_of_segment(report, event); !hint.empty()) return hint;
  if (const LeakThen leak = leak_then(report, leaks, event); leak.bytes != 0) {
    const std::string enough =
        event.by_limit ? enough_clause(report, event) : lacking_clause(report, event);
    return (leak.is_most ? "most" : amount_text(leak.bytes)) + " of it was " +
           (is_final(report) ? "never freed" : "not freed until then") +
           (leak.is_growth ? ", and grew to the end" + of_rate(leak)
                           : ": a leak, or what the program needs") +
           ": vramscope leaks names the places" + stranded_clause(report, event) +
           rounding_clause(event) + (leak.is_growth ? "" : enough) +
           (native_safe_serves(report, event) ? policy_clause(report, event) : "");
  }
  if (event.by_limit) return hint_of_limit(report, event, leaks);
  if (is_host(event.kind)) return "pinned memory is memory of the host: see free -h and ulimit -l";
  if (!event.has_details || event.total_bytes == 0) return "";
  if (event.bytes != 0 && event.free_bytes >= event.bytes) {
    if (event.free_bytes - event.bytes < driver_reserve(report)) {
      return "the driver had as much free, and keeps its last 3 MiB or so for itself";
    }
    return "the driver had as much free, and refused it: perhaps in pieces";
  }
  const std::uint64_t in_pages = event.bytes + rest_of_pages(event.bytes);
  if (event.bytes != 0 && native_free_then(report, event) >= in_pages) {
    return option_of(report, "policy") == "pytorch"
               ? "without the cache of --policy pytorch it would probably have fit: native-safe, "
                 "the default, or --mode observe"
               : "without the cache it would probably have fit: --mode observe tells";
  }
  if (const std::uint64_t stranded = stranded_then(report, event); stranded != 0) {
    return "fragmentation: with the " + amount_text(stranded) +
           " free in pieces the GPU would have had enough" +
           (event.pins.empty() ? "" : "; HELD BY names what pins them") +
           (native_free_then(report, event) > event.free_bytes
                ? policy_clause(report, event)
                : "; without the cache it would also be fragmented");
  }
  if (std::string hint = hint_of_pools(event); !hint.empty()) return hint;
  return hint_of_holders(report, event, leaks) + policy_clause(report, event);
}

}  // namespace vramscope
