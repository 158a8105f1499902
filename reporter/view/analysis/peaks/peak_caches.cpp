// Asks each recorded stack which cache holds what it allocated.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/peaks/peak_caches.h"

#include <algorithm>
#include <map>

#include "reporter/view/analysis/report_figures.h"
#include "reporter/view/analysis/site_usage.h"

namespace vramscope {
namespace {

using ByCache = std::map<std::size_t, std::uint64_t>;

void add(ByCache& held, const std::vector<std::uint32_t>& frames,
         const std::vector<SitePart>& parts, const KindFacts& kind, FrameworkCaches& caches) {
  const SitePart* const part = part_of(parts, kind.kind, kind.device);
  const std::uint64_t bytes = part == nullptr ? 0 : numbers_of(*part).peak_bytes;
  if (bytes == 0 || frames.empty()) return;
  if (const auto cache = caches.of(frames, *part)) held[*cache] += bytes;
}

}  // namespace

std::vector<CacheAtPeak> caches_at_peak(const Report& report, const NameFrame& name) {
  FrameworkCaches caches(report, name);
  std::vector<CacheAtPeak> all;
  for (const KindFacts& kind : kinds_by_peak(report)) {
    ByCache held;
    for (const Site& site : report.sites) {
      if (site.whole.empty()) add(held, site.frames, site.parts, kind, caches);
      for (const RecordedStack& stack : site.whole) {
        add(held, stack.frames, stack.parts, kind, caches);
      }
    }
    const auto first = static_cast<std::ptrdiff_t>(all.size());
    for (const auto& [number, bytes] : held) {
      const FrameworkCache& cache = framework_caches()[number];
      if (cache.cuts_blocks) all.push_back({.kind = kind, .cache = cache, .bytes = bytes});
    }
    std::stable_sort(all.begin() + first, all.end(),
                     [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  }
  return all;
}

}  // namespace vramscope
