// What each call site allocated, held and freed: the one place from which texts, JSON, pages and
// exports take these figures.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "reporter/report/report.h"

namespace vramscope {

// What a part or a site holds; where stacks were sampled, the estimate.
[[nodiscard]] inline const SiteTotals& numbers_of(const SitePart& part) {
  return part.estimate ? *part.estimate : part.totals;
}
[[nodiscard]] inline const SiteTotals& numbers_of(const Site& site) {
  return site.estimate ? *site.estimate : site.totals;
}

// The part of a site or stack of one kind of memory on one device; null: it has none.
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
  SiteTotals totals;  // numbers_of() the part; live: with blocks whose free is not complete yet
  // Live without these blocks: what the program has not freed.
  std::uint64_t never_freed_bytes = 0;
  std::uint64_t never_freed_count = 0;
};

// By site; only of kinds that hold memory, because others view the same bytes. The first does not
// look at each block, and has all that is live as never freed. May throw bad_alloc.
[[nodiscard]] std::vector<SiteUsage> usage_by_site(const Report& report);
[[nodiscard]] std::vector<SiteUsage> usage_with_never_freed(const Report& report);

// Of how many allocations it is known whether they were temporary, and how many of them were. Not
// known: of sites of which a filter left kinds of memory out.
struct TemporaryShare {
  std::uint64_t temporary = 0;
  std::uint64_t allocations = 0;
};
// Whether the report tells what was freed: a snapshot without history has what was live alone.
[[nodiscard]] bool tells_frees(const Report& report);
[[nodiscard]] TemporaryShare temporary_share(const Report& report);

}  // namespace vramscope
