// PageSites is which call stacks a page shows one by one, and what the others, which it shows as
// one row, come to. Sums are exact: no row is left out of them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "reporter/report/report.h"

namespace vramscope {

// What one site, or several, hold of one kind of memory on one device. Bytes are requested bytes;
// live: never freed, without what waits for its free to complete.
struct PageRow {
  static constexpr std::size_t kOthers = SIZE_MAX;
  std::size_t site = kOthers;  // index into Report::sites
  std::size_t memory = 0;      // index into PageSites::memory
  SiteTotals totals = {};
  std::uint64_t temporary_count = 0;  // of a site with several memories, at the one with most calls
};

struct MemoryOnPage {
  Kind kind = Kind::device;
  std::uint16_t device = 0;
  SiteTotals totals = {};  // of all rows
  std::uint64_t temporary_count = 0;
  std::uint64_t sites = 0;
};

struct PageSites {
  std::vector<MemoryOnPage> memory;  // the highest peak first
  std::vector<PageRow> rows;         // those of one site follow each other, the largest share first
  std::vector<PageRow> others;       // by memory: what the sites without a row come to
  std::uint64_t shown = 0;           // sites
  std::uint64_t folded = 0;          // sites
  // No folded site has more than this of the sum of its memory, in any of the six costs.
  std::uint64_t folded_share_ppm = 0;
};

// At most `most` sites are shown: those with the largest share of any cost (at the peak, never
// freed, in all, allocations, temporary ones, time). May throw bad_alloc.
[[nodiscard]] PageSites page_sites(const Report& report, std::size_t most);

}  // namespace vramscope
