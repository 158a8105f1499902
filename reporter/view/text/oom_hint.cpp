// Judges why memory ran out: a leak, fragmentation, a limit, others, or what the program holds.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string_view>
#include <vector>

#include "allocator/base/driver_pages.h"
#include "reporter/report/options_of.h"
#include "reporter/report/report.h"
#include "reporter/report/unmeasured.h"
#include "reporter/view/analysis/segment_sizes.h"
#include "reporter/view/analysis/subject.h"
#include "reporter/view/text/oom_text.h"
#include "reporter/view/text/words.h"

namespace vramscope {

std::string held_text(const HeldThen& held) {
  std::string text;
  if (held.cache_bytes != 0) {
    text = amount_text(held.cache_bytes) + " held by " + std::string(held.cache.name);
  }
  if (held.kept_bytes != 0) {
    text += (text.empty() ? "" : ", ") + amount_text(held.kept_bytes) + " of " +
            counted(held.kept_places, "call site") + " that freed nothing";
  }
  if (held.temporary_bytes == 0) return text;
  return text + (text.empty() ? "" : ", ") + amount_text(held.temporary_bytes) + " temporary (" +
         counted(held.temporary_places, "call site") + " that freed most allocations)";
}

namespace {

std::string hint_of_segment(const Report& report, const OomEvent& event) {
  const std::uint64_t free = free_for_segment(report, event);
  if (free == 0) return "";
  return "--policy pytorch asks for a segment of " + amount_text(kLargeSegment) + ", and " +
         amount_text(free) + " were free" + (event.by_limit ? " under the limit" : "") +
         ": --exact-fallback on would have asked for " +
         amount_text(event.bytes + rest_of_pages(event.bytes)) + " then";
}

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
  return lacking == 0 ? ""
                      : "; " + amount_text(lacking) + " more free memory would have been enough";
}

// Behind what grows nothing is enough for long.
std::string of_rate(const LeakThen& leak) {
  return leak.rate ? ", " + harmless(rate_text(*leak.rate)) : "";
}

// No leak and no hole is why; "" where that much could have been free.
std::string hint_of_size(const Report& report, const OomEvent& event) {
  if (!asks_for_too_much(report, event)) return "";
  if (refusing_limit(report, event) != 0) {
    return "it asks for more than the whole limit of --device-memory-limit" +
           enough_clause(report, event);
  }
  return "it asks for more than the whole GPU has (" + amount_text(event.total_bytes) + ")";
}

// ": 900 MiB of 1 call site that freed nothing", and whether what was temporary is why.
std::string held_clause(const HeldThen& held, std::uint64_t lacking) {
  const std::string text = held_text(held);
  if (text.empty()) return "";
  const bool overlaps = lacking != 0 && held.temporary_bytes >= lacking;
  return ": " + text +
         (overlaps ? ", whose lifetimes overlapped: if freed earlier, it would have been enough"
                   : "");
}

std::string hint_of_limit(const Report& report, const OomEvent& event, const Leaks& leaks) {
  const std::string policy = policy_clause(report, event);
  if (const std::uint64_t stranded = stranded_then(report, event); stranded != 0) {
    return "fragmentation: the " + amount_text(stranded) +
           " free in pieces would have been enough under the limit" +
           (event.pins.empty() ? "" : "; HELD BY lists the blocks that hold them") + policy;
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

// Whoever had the most of what was used.
std::string hint_of_holders(const Report& report, const OomEvent& event, const Leaks& leaks) {
  const std::uint64_t ours = event.allocated_bytes + event.direct_bytes + event.rounding_bytes;
  const std::uint64_t own = own_outside(event);
  const std::uint64_t pools = pools_then(event);
  const std::uint64_t others = others_then(event);
  const std::uint64_t before = before_then(event);
  if (before > ours && before > own && before > pools && before > others) {
    return "most of the memory is " + std::string(kFromBefore) +
           ": start the program under vramscope run to see whose it is" + pools_clause(event);
  }
  if (pools > ours && pools > own && pools > others)
    return pools_text(event, " most of the memory");
  if (others > ours && others > own) {
    const bool are_told = are_contexts_measured(report, event.device) || event.before_bytes;
    return "most of the memory is held by " +
           std::string(are_told ? "others" : kContextsAndOthers) +
           ": see vramscope owners, or nvidia-smi" + pools_clause(event);
  }
  if (own > ours) {
    const char* const what = event.module_bytes == 0    ? "contexts"
                             : event.context_bytes == 0 ? "code"
                                                        : "contexts and code";
    const std::string held = "most of the memory is held by " + std::string(what) +
                             " of this process: " + amount_text(own) + ", see vramscope owners";
    const std::uint64_t grown = grown_then(event, leaks);
    const bool is_leak = grown != 0 && grown >= ours / kTenthOfHeld;
    return (is_leak ? amount_text(grown) +
                          " came from call sites that kept growing until the end: vramscope leaks "
                          "lists them; "
                    : "") +
           held + pools_clause(event);
  }
  if (event.rounding_bytes > event.allocated_bytes + event.direct_bytes) {
    return "most of the memory is free space in the driver's pages of 2 MiB, which small live "
           "allocations keep: see LIVE AT THE REFUSAL" +
           lacking_clause(report, event) + pools_clause(event);
  }
  const HeldThen then = held_then(report, event, leaks);
  if (then.cache_bytes > ours / 2) {
    return "most of the memory is held by " + std::string(then.cache.name) + ", in use or free" +
           (then.cache.inside.empty() ? "" : "; to see its contents: ") +
           std::string(then.cache.inside) + pools_clause(event);
  }
  const std::string held = held_clause(then, lacking_then(event, event.free_bytes));
  return "the program itself holds most of the memory" + (held.empty() ? ":" : held + ";") +
         " see LIVE AT THE REFUSAL, and vramscope peak" + rounding_clause(event) +
         lacking_clause(report, event) + pools_clause(event);
}

}  // namespace

std::string hint_for(const Report& report, const OomEvent& event, const Leaks& leaks) {
  if (std::string hint = hint_of_size(report, event); !hint.empty()) return hint;
  if (std::string hint = hint_of_segment(report, event); !hint.empty()) return hint;
  if (const LeakThen leak = leak_then(report, leaks, event); leak.bytes != 0) {
    const std::string enough =
        event.by_limit ? enough_clause(report, event) : lacking_clause(report, event);
    return (leak.is_most ? "most" : amount_text(leak.bytes)) + " of the memory was " +
           (is_final(report) ? "never freed" : "still live") +
           (leak.is_growth ? ", and kept growing until the end" + of_rate(leak)
                           : ": a leak, or what the program needs") +
           ": vramscope leaks lists the call sites" + stranded_clause(report, event) +
           rounding_clause(event) + (leak.is_growth ? "" : enough) +
           (native_safe_serves(report, event) ? policy_clause(report, event) : "");
  }
  if (event.by_limit) return hint_of_limit(report, event, leaks);
  if (is_host(event.kind)) return "pinned memory is host memory: see free -h and ulimit -l";
  if (!event.has_details || event.total_bytes == 0) return "";
  if (event.bytes != 0 && event.free_bytes >= event.bytes) {
    if (event.free_bytes - event.bytes < driver_reserve(report)) {
      return "the driver had enough free memory, but keeps about 3 MiB for itself";
    }
    return "the driver had enough free memory, but refused the request: the free memory may be in "
           "pieces";
  }
  const std::uint64_t in_pages = event.bytes + rest_of_pages(event.bytes);
  if (event.bytes != 0 && native_free_then(report, event) >= in_pages) {
    return option_of(report, "policy") == "pytorch"
               ? "without the cache of --policy pytorch the request would probably have fit: try "
                 "native-safe, the default, or --mode observe"
               : "without the cache the request would probably have fit: try --mode observe";
  }
  if (const std::uint64_t stranded = stranded_then(report, event); stranded != 0) {
    return "fragmentation: the " + amount_text(stranded) +
           " free in pieces would have been enough" +
           (event.pins.empty() ? "" : "; HELD BY lists the blocks that hold them") +
           (native_free_then(report, event) > event.free_bytes
                ? policy_clause(report, event)
                : "; without the cache, memory would also be fragmented");
  }
  if (std::string hint = hint_of_pools(event); !hint.empty()) return hint;
  return hint_of_holders(report, event, leaks) + policy_clause(report, event);
}

}  // namespace vramscope
