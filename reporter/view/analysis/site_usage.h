// usage_by_site() returns what each call site allocated, held and freed. Texts, JSON, pages and
// exports all take these figures from here.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "reporter/report/report.h"

namespace vramscope {

// Return the totals of a part or a site; if stacks were sampled, the estimate.
[[nodiscard]] inline const SiteTotals& numbers_of(const SitePart& part) {
  return part.estimate ? *part.estimate : part.totals;
}
[[nodiscard]] inline const SiteTotals& numbers_of(const Site& site) {
  return site.estimate ? *site.estimate : site.totals;
}

// Returns the part of a site or stack for one kind of memory on one device, or null.
[[nodiscard]] inline const SitePart* part_of(const std::vector<SitePart>& parts, Kind kind,
                                             std::uint16_t device) {
  for (const SitePart& part : parts) {
    if (part.kind == kind && part.device == device) return &part;
  }
  return nullptr;
}

// What one site did with one kind of memory on one device. Bytes are requested bytes.
struct SiteUsage {
  std::size_t site = 0;  // index into Report::sites
  Kind kind = Kind::device;
  std::uint16_t device = 0;
  SiteTotals totals;  // numbers_of() the part; live bytes include pending frees
  // Live bytes without pending frees: what the program has not freed.
  std::uint64_t never_freed_bytes = 0;
  std::uint64_t never_freed_count = 0;
};

// Return usage by site, only of kinds that hold memory, because others are views of the same bytes.
// The first function does not look at each block, and counts everything live as never freed. May
// throw bad_alloc.
[[nodiscard]] std::vector<SiteUsage> usage_by_site(const Report& report);
[[nodiscard]] std::vector<SiteUsage> usage_with_never_freed(const Report& report);

// The number of allocations for which it is known whether they were temporary, and the number of
// temporary ones. It is not known for sites of which a filter removed kinds of memory.
struct TemporaryShare {
  std::uint64_t temporary = 0;
  std::uint64_t allocations = 0;
  // An earlier version, which measured the run in time, also counted what a thread freed last.
  bool counts_last = false;
};
// Returns whether the report says what was freed: a snapshot without history has only what was
// live.
[[nodiscard]] bool tells_frees(const Report& report);
// Returns whether an earlier version wrote the report, or a part of a merged one: it measured the
// run in time, not in allocations.
[[nodiscard]] bool is_measured_in_time(const Report& report);
[[nodiscard]] TemporaryShare temporary_share(const Report& report);

}  // namespace vramscope
