// Chooses the sites of a page by their largest share.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/page/page_sites.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "reporter/view/analysis/report_figures.h"
#include "reporter/view/analysis/site_usage.h"

namespace vramscope {
namespace {

using Costs = std::array<std::uint64_t, 6>;

Costs costs_of(const SiteTotals& totals, std::uint64_t temporary) {
  return {totals.peak_bytes,  totals.live_bytes, totals.total_bytes,
          totals.total_count, temporary,         totals.total_ns};
}

// Memory of each kind and device by its place in PageSites::memory.
class MemoryIndex {
 public:
  explicit MemoryIndex(PageSites& sites) : sites_(sites) {}
  std::size_t operator()(Kind kind, std::uint16_t device) {
    const auto [found, is_new] = known_.try_emplace({kind, device}, sites_.memory.size());
    if (is_new) sites_.memory.push_back({.kind = kind, .device = device});
    return found->second;
  }

 private:
  PageSites& sites_;
  std::map<std::pair<Kind, std::uint16_t>, std::size_t> known_;
};

std::size_t part_with_most_calls(const Site& site) {
  std::size_t most = 0;
  for (std::size_t i = 1; i < site.parts.size(); ++i) {
    const bool is_more =
        numbers_of(site.parts[i]).total_count > numbers_of(site.parts[most]).total_count;
    if (is_more) most = i;
  }
  return most;
}

std::vector<PageRow> all_rows(const Report& report, MemoryIndex& index) {
  std::vector<PageRow> rows;
  for (const SiteUsage& usage : usage_with_never_freed(report)) {
    const Site& site = report.sites[usage.site];
    const SitePart& told = site.parts[part_with_most_calls(site)];
    PageRow row{
        .site = usage.site, .memory = index(usage.kind, usage.device), .totals = usage.totals};
    row.totals.live_bytes = usage.never_freed_bytes;
    row.totals.live_count = usage.never_freed_count;
    if (told.kind == usage.kind && told.device == usage.device) {
      row.temporary_count = site.temporary_count;
    }
    rows.push_back(row);
  }
  return rows;
}

void add_totals(PageSites& sites, const std::vector<PageRow>& rows) {
  for (const PageRow& row : rows) {
    MemoryOnPage& memory = sites.memory[row.memory];
    memory.totals += row.totals;
    memory.temporary_count += row.temporary_count;
    ++memory.sites;
  }
}

// The largest of the shares that the row has of its memory's costs, in millionths, rounded up.
std::uint64_t share_of(const PageRow& row, const PageSites& sites) {
  constexpr double kMillion = 1e6;
  const MemoryOnPage& memory = sites.memory[row.memory];
  const Costs all = costs_of(memory.totals, memory.temporary_count);
  const Costs own = costs_of(row.totals, row.temporary_count);
  std::uint64_t largest = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (own[i] == 0) continue;
    const double share = static_cast<double>(own[i]) / static_cast<double>(all[i]) * kMillion;
    largest = std::max(largest, static_cast<std::uint64_t>(share) + 1);
  }
  return largest;
}

struct Ranked {
  std::uint64_t share = 0;
  std::size_t site = 0;
};

// The sites of the rows, those with the largest share first.
std::vector<Ranked> ranked(const std::vector<PageRow>& rows, const PageSites& sites) {
  std::vector<Ranked> order;
  for (const PageRow& row : rows) {
    const std::uint64_t share = share_of(row, sites);
    if (order.empty() || order.back().site != row.site) order.push_back({.site = row.site});
    order.back().share = std::max(order.back().share, share);
  }
  std::sort(order.begin(), order.end(), [](const Ranked& a, const Ranked& b) {
    return std::tie(b.share, a.site) < std::tie(a.share, b.site);
  });
  return order;
}

void put_highest_memory_first(PageSites& sites, std::vector<PageRow>& rows) {
  std::vector<std::size_t> order(sites.memory.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return sites.memory[a].totals.peak_bytes > sites.memory[b].totals.peak_bytes;
  });
  std::vector<MemoryOnPage> sorted;
  std::vector<std::size_t> places(order.size());
  for (const std::size_t former : order) {
    places[former] = sorted.size();
    sorted.push_back(sites.memory[former]);
  }
  sites.memory = std::move(sorted);
  for (PageRow& row : rows) row.memory = places[row.memory];
}

}  // namespace

PageSites page_sites(const Report& report, std::size_t most) {
  PageSites sites;
  MemoryIndex index(sites);
  std::vector<PageRow> rows = all_rows(report, index);
  add_totals(sites, rows);
  put_highest_memory_first(sites, rows);
  const std::vector<Ranked> order = ranked(rows, sites);
  std::vector<std::size_t> rank(report.sites.size(), PageRow::kOthers);
  sites.shown = std::min(most, order.size());
  sites.folded = order.size() - sites.shown;
  for (std::size_t i = 0; i < sites.shown; ++i) rank[order[i].site] = i;
  if (sites.folded != 0) sites.folded_share_ppm = order[sites.shown].share;

  for (std::size_t i = 0; i < sites.memory.size(); ++i) sites.others.push_back({.memory = i});
  for (const PageRow& row : rows) {
    if (rank[row.site] != PageRow::kOthers) {
      sites.rows.push_back(row);
      continue;
    }
    sites.others[row.memory].totals += row.totals;
    sites.others[row.memory].temporary_count += row.temporary_count;
  }
  std::stable_sort(sites.rows.begin(), sites.rows.end(),
                   [&](const PageRow& a, const PageRow& b) { return rank[a.site] < rank[b.site]; });
  return sites;
}

}  // namespace vramscope
