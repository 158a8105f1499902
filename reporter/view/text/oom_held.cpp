// Tells what the program itself held when memory ran out: for good, or for a while.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "reporter/report/report.h"
#include "reporter/view/analysis/leaks/framework_caches.h"
#include "reporter/view/analysis/leaks/leaks.h"
#include "reporter/view/text/oom_text.h"

namespace vramscope {
namespace {

constexpr std::uint64_t kCountOfHabit = 3;  // of what a place freed: once may be the end

}  // namespace

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

std::string held_text(const HeldThen& held) {
  std::string text;
  if (held.cache_bytes != 0) {
    text = amount_text(held.cache_bytes) + " held by " + std::string(held.cache.name);
  }
  if (held.kept_bytes != 0) {
    text += (text.empty() ? "" : ", ") + amount_text(held.kept_bytes) + " of " +
            counted(held.kept_places, "place") + " that freed nothing";
  }
  if (held.temporary_bytes == 0) return text;
  return text + (text.empty() ? "" : ", ") + amount_text(held.temporary_bytes) + " temporary (" +
         counted(held.temporary_places, "place") + ", where what is allocated is freed)";
}

}  // namespace vramscope
