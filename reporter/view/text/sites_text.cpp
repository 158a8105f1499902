// Every call site with what it held, how long, and whether it grows.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/sites_text.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "reporter/report/memory_name.h"
#include "reporter/report/report.h"
#include "reporter/view/analysis/report_figures.h"
#include "reporter/view/analysis/site_growth.h"
#include "reporter/view/analysis/site_usage.h"
#include "reporter/view/analysis/subject.h"
#include "reporter/view/listing/site_columns.h"
#include "reporter/view/listing/site_listing.h"
#include "reporter/view/listing/tree_text.h"
#include "reporter/view/text/totals_text.h"
#include "reporter/view/text/words.h"

namespace vramscope {
namespace {

std::uint64_t rank(const Site& site, SiteOrder order) {
  switch (order) {
    case SiteOrder::peak:
      return numbers_of(site).peak_bytes;
    case SiteOrder::live:
      return numbers_of(site).live_bytes;
    case SiteOrder::total:
      return numbers_of(site).total_bytes;
    case SiteOrder::count:
      return numbers_of(site).total_count;
    case SiteOrder::time:
      return numbers_of(site).total_ns;
    case SiteOrder::temporary:
      return site.temporary_count;
    case SiteOrder::growth:
      return growth_of(site).rises;
  }
  return 0;
}

std::vector<std::size_t> all_in_order(const Report& report, SiteOrder order) {
  std::vector<std::size_t> sites(report.sites.size());
  std::iota(sites.begin(), sites.end(), std::size_t{0});
  // The others' estimates stand for it.
  std::erase_if(sites, [&](std::size_t i) { return report.sites[i].is_left_out; });
  const auto key = [&](std::size_t i) {
    const Site& site = report.sites[i];
    return std::pair(rank(site, order), order == SiteOrder::growth ? growth_of(site).bytes : 0);
  };
  std::stable_sort(sites.begin(), sites.end(),
                   [&](std::size_t a, std::size_t b) { return key(a) > key(b); });
  return sites;
}

std::vector<std::size_t> arranged(const Report& report, SiteOrder order, const NameFrame& name,
                                  const RowChoice& choice) {
  std::vector<std::size_t> sites = all_in_order(report, order);
  if (!choice.sort.empty()) arrange(sites, site_columns(report, name), choice);
  return sites;
}

// The decade in which half of what was freed had been freed: "< 10 us".
std::string lifetime_text(const Site& site) {
  const auto& lifetimes = site.lifetimes;
  const std::uint64_t all = std::accumulate(lifetimes.begin(), lifetimes.end(), std::uint64_t{0});
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < std::min(lifetimes.size(), kLifetimes); ++i) {
    seen += lifetimes[i];
    if (seen != 0 && seen >= all - seen) return lifetime_name(i);
  }
  return "-";
}

std::string temporary_text(const Site& site) {
  return site.is_part || site.totals.total_count == 0
             ? "-"
             : percent_text(site.temporary_count, site.totals.total_count);
}

// "3/8".
std::string rises_text(const Site& site) {
  const Growth growth = growth_of(site);
  return growth.rises == 0 || growth.intervals < 2  // a merged report has one: all of the run
             ? "-"
             : std::to_string(growth.rises) + "/" + std::to_string(growth.intervals);
}

}  // namespace

std::optional<SiteOrder> site_order(std::string_view name) {
  const auto found = std::find(kSiteOrderNames.begin(), kSiteOrderNames.end(), name);
  if (found == kSiteOrderNames.end()) return std::nullopt;
  return static_cast<SiteOrder>(found - kSiteOrderNames.begin());
}

std::string_view title_of(SiteOrder order) {
  constexpr std::string_view kTitles[] = {"AT PEAK", "NOW",  "TOTAL", "COUNT",
                                          "TIME",    "TEMP", "GREW"};
  return kTitles[static_cast<std::size_t>(order)];
}

std::vector<std::size_t> sites_in_order(const Report& report, SiteOrder order,
                                        const NameFrame& name, const RowChoice& choice) {
  std::vector<std::size_t> sites = arranged(report, order, name, choice);
  sites.resize(rows_shown(sites.size(), choice.most));
  return sites;
}

namespace {

void add_remarks(Document& text, const Report& report) {
  if (report.sample_bytes != 0) text.paragraph("All numbers are " + sampling_text(report) + ".");
  if (report.dropped_stacks == 0) return;
  text.paragraph(counted(report.dropped_stacks, "call") +
                 " came from call sites beyond those that fit, and are not listed.");
}

// Those of the first sites first.
std::vector<Share> in_order(std::vector<Share> shares, const std::vector<std::size_t>& sites,
                            std::size_t count) {
  std::vector<std::size_t> place(count, sites.size());
  for (std::size_t i = 0; i < sites.size(); ++i) place[sites[i]] = i;
  std::stable_sort(shares.begin(), shares.end(),
                   [&](const Share& a, const Share& b) { return place[a.site] < place[b.site]; });
  return shares;
}

// By which bytes it is drawn follows from the order.
Document sites_tree(const Report& report, SiteOrder order, const NameFrame& name, const Page& page,
                    std::size_t most) {
  const auto tree = [&](std::vector<Share> shares, const char* title) {
    shares = in_order(std::move(shares), all_in_order(report, order), report.sites.size());
    return tree_text(report, name, shares, title, page, most);
  };
  if (!tells_frees(report)) return tree(shares_live(report), "NOW");
  switch (order) {
    case SiteOrder::peak:
      return tree(shares_of_peak(report), "AT PEAK");
    case SiteOrder::live:
    case SiteOrder::growth:
      return tree(shares_live(report), "NOW");
    default:
      return tree(shares_in_all(report), "TOTAL");
  }
}

// Where rows are of more than one memory each says of which, after its numbers.
void tell_memories(Columns<std::size_t>& columns, const Report& report,
                   const std::vector<std::size_t>& sites) {
  std::set<std::string> memories;
  for (const std::size_t site : sites) memories.insert(memories_of(report, report.sites[site]));
  if (memories.size() < 2) return;
  const auto memory = [&report](std::size_t site) {
    return memories_of(report, report.sites[site]);
  };
  columns.push_back({{"MEMORY", Table::Align::left, 5}, memory});
}

}  // namespace

std::string memories_of(const Report& report, const Site& site) {
  const auto has_any = [](const SitePart& part) {
    return part.totals.total_count != 0 || part.totals.live_bytes != 0;
  };
  const bool is_known = std::any_of(site.parts.begin(), site.parts.end(), has_any);
  std::string text;
  for (const SitePart& part : site.parts) {
    if (is_known && !has_any(part)) continue;
    text += (text.empty() ? "" : ", ") + memory_name(report, part.kind, part.device);
  }
  return text;
}

Columns<std::size_t> site_columns(const Report& report, const NameFrame& name) {
  using Row = std::size_t;
  const auto of = [&report](auto get) {
    return [&report, get](Row row) { return std::invoke(get, report.sites[row]); };
  };
  const auto totals = [&report](Row row) -> const SiteTotals& {
    return numbers_of(report.sites[row]);
  };
  const auto rises = [](const Site& site) { return growth_of(site).rises; };
  const bool tells = tells_frees(report);
  const auto memory = [&report](const Site& site) { return memories_of(report, site); };
  Columns<Row> columns{
      {"memory", "kinds and devices of its memory, by the names in text output: `GPU 0, pinned`",
       of(memory)}};
  append(columns, totals_columns<Row>(totals, {1, 3, 4, 2, 6}));
  need_history(columns, kHistoryOfTotals, run_history(report));
  append(columns,
         {{"estimated", "the numbers are estimates from sampled stacks",
           of([](const Site& site) { return site.estimate.has_value(); })},
          {"temporary_count",
           "allocations that were freed before the next allocation of their thread; `null`: frees "
           "are not known, or a filter excludes part of the site's memory",
           [&report, tells](Row row) {
             const Site& site = report.sites[row];
             return tells && !site.is_part ? std::optional(site.temporary_count) : std::nullopt;
           },
           Titled("TEMP", 7),
           [&report, tells](Row row) { return tells ? temporary_text(report.sites[row]) : "-"; },
           Legend(is_measured_in_time(report)
                      ? "TEMP: share of the allocations that were freed before their thread's "
                        "next allocation; a thread's last allocation counts if it was freed."
                      : "TEMP: share of the allocations that were freed before their thread "
                        "allocated again.")},
          {{"LIFE", Table::Align::right, 8},
           of(lifetime_text),
           Legend("LIFE: half of the freed allocations lived less than this.")},
          {"growth_intervals",
           "number of intervals in which live bytes rose, counted from their last fall", of(rises),
           Titled("GREW", 9), of(rises_text),
           Legend("GREW: 3/9 means that 9 intervals have begun since the run's first allocation, "
                  "and that the site's live bytes have risen in 3 of them since they last fell.")},
          {"intervals", "number of intervals since the run's first allocation",
           of([](const Site& site) { return growth_of(site).intervals; })},
          {"growth_bytes", "bytes by which they rose",
           of([](const Site& site) { return growth_of(site).bytes; })},
          {"tenths_of_growth",
           "in how many tenths of the run's allocations the live memory was allocated",
           of(tenths_of_growth)},
          {"lifetimes", "freed allocations by lifetime, one class per power of ten, as in reports",
           of(&Site::lifetimes)},
          {"sizes", "allocations by size class, as in reports", of(&Site::sizes)},
          {"live_by_age",
           "live bytes by the tenth of the run's allocations in which they were allocated",
           of(&Site::live_by_age), InUnit("bytes")},
          {"live_past", "live bytes at the ends of the intervals", of(&Site::live_past),
           InUnit("bytes")}});
  const auto index = [](Row row) { return static_cast<std::int64_t>(row); };
  return with_site<Row>(report, name, index, columns);
}

Document all_sites_text(const Report& report, SiteOrder order, const NameFrame& name,
                        const Page& page, const RowChoice& choice) {
  const std::vector<std::size_t> sites = arranged(report, order, name, choice);
  if (sites.empty()) return nothing_text(report);
  if (page.stacks == Stacks::as_tree) {
    Document text = sites_tree(report, order, name, page, choice.most);
    add_remarks(text, report);
    text.append(totals_text(report, name));
    return text;
  }
  Columns<std::size_t> columns = site_columns(report, name);
  keep(columns, title_of(order));
  if (!tells_frees(report)) keep_what_was_live(columns);
  tell_memories(columns, report, sites);
  const std::size_t shown = rows_shown(sites.size(), choice.most);
  const SiteListing table = site_listing(report, name, columns, first_rows(sites, choice.most),
                                         std::identity(), "WHERE", page, SiteListing::Calls::shown);
  const SiteListing::Drawn rows = table.drawn(page);
  const std::string at_peak =
      is_of_several(report) ? " AT PEAK: of each process, when its memory held most." : "";
  Document text;
  text.drawing(rows.text + and_more(sites.size() - shown, "row"));
  add_remarks(text, report);
  text.gap();
  text.paragraph((tells_frees(report) ? "Bytes are requested bytes."
                                      : "NOW: requested bytes live at the snapshot.") +
                 legend_of(columns, rows.titles) + at_peak);
  text.append(totals_text(report, name), kUnlessRepeated);
  return text;
}

}  // namespace vramscope
