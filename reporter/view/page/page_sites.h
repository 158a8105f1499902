// PageSites is the call sites that a page shows individually, and the sums of the others, which it
// shows as one row. Sums are exact: they include every row.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "reporter/report/report.h"

namespace vramscope {

// What one or several sites hold of one kind of memory on one device. Bytes are requested bytes.
// Live memory was never freed, and does not include pending frees.
struct PageRow {
  static constexpr std::size_t kOthers = SIZE_MAX;
  std::size_t site = kOthers;  // index into Report::sites
  std::size_t memory = 0;      // index into PageSites::memory
  SiteTotals totals = {};
  std::uint64_t temporary_count = 0;  // for a site with several kinds of memory, on the row with
                                      // the most calls
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
  std::vector<PageRow> rows;         // rows of a site are adjacent; the largest share first
  std::vector<PageRow> others;       // by memory: the sums of sites without a row
  std::uint64_t shown = 0;           // sites
  std::uint64_t folded = 0;          // sites
  // No folded site has a larger share of its memory's sum than this, in any of the six costs.
  std::uint64_t folded_share_ppm = 0;
};

// Shows at most `most` sites: those with the largest share of any cost (at the peak, never freed,
// in total, allocations, temporary ones, time). May throw bad_alloc.
[[nodiscard]] PageSites page_sites(const Report& report, std::size_t most);

}  // namespace vramscope
