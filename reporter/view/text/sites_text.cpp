// Every call site with what it held, how long, and whether it grows.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/sites_text.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>
#include <vector>

#include "reporter/report/report.h"
#include "reporter/view/analysis/digest.h"
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
std::string lifetime_text(const std::vector<std::uint64_t>& lifetimes) {
  const std::uint64_t all = std::accumulate(lifetimes.begin(), lifetimes.end(), std::uint64_t{0});
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < std::min(lifetimes.size(), kLifetimes); ++i) {
    seen += lifetimes[i];
    if (seen != 0 && seen >= all - seen) return lifetime_name(i);
  }
  return "-";
}

// "3/8".
std::string growth_text(const Growth& growth) {
  return growth.rises == 0 ? "-"
                           : std::to_string(growth.rises) + "/" + std::to_string(growth.intervals);
}

template <class List>
CellValue numbers(const List& list) {
  return CellNumbers(list.begin(), list.end());
}

}  // namespace

std::optional<SiteOrder> site_order(std::string_view name) {
  const auto found = std::find(kSiteOrderNames.begin(), kSiteOrderNames.end(), name);
  if (found == kSiteOrderNames.end()) return std::nullopt;
  return static_cast<SiteOrder>(found - kSiteOrderNames.begin());
}

std::vector<std::size_t> sites_in_order(const Report& report, SiteOrder order,
                                        const NameFrame& name, const RowChoice& choice) {
  std::vector<std::size_t> sites = arranged(report, order, name, choice);
  sites.resize(rows_shown(sites.size(), choice.most));
  return sites;
}

namespace {

// What the listing shows of a site, in the order of the columns.
struct SiteColumn {
  SiteOrder order;
  Table::Column column;
  const char* legend;  // "" where the line for all bytes says it
};
const std::array<SiteColumn, 8> kColumns{{
    {SiteOrder::peak, {"AT PEAK", Table::Align::right, 1}, ""},
    {SiteOrder::live, {"NOW", Table::Align::right, 3}, ""},
    {SiteOrder::total, {"TOTAL", Table::Align::right, 4}, ""},
    {SiteOrder::count, {"COUNT", Table::Align::right, 2}, ""},
    {SiteOrder::time, {"TIME", Table::Align::right, 6}, "TIME: in the allocating calls."},
    {SiteOrder::temporary,
     {"TEMP", Table::Align::right, 7},
     "TEMP: freed before the next allocation of the thread."},
    {SiteOrder::peak, {"LIFE", Table::Align::right, 8}, "LIFE: half of what was freed lived less."},
    {SiteOrder::growth,
     {"GREW", Table::Align::right, 9},
     "GREW: intervals of the run over which its live bytes rose, since they last fell."},
}};

std::vector<std::string> cells_of(const Site& site) {
  const SiteTotals& totals = numbers_of(site);
  return {bytes_text(static_cast<std::int64_t>(totals.peak_bytes)),
          bytes_text(static_cast<std::int64_t>(totals.live_bytes)),
          bytes_text(static_cast<std::int64_t>(totals.total_bytes)),
          count_text(static_cast<std::int64_t>(totals.total_count)),
          duration_text(totals.total_ns),
          site.is_part ? "-" : percent_text(site.temporary_count, site.totals.total_count),
          lifetime_text(site.lifetimes),
          growth_text(growth_of(site))};
}

// What the sites are ordered by has its column on every page.
std::vector<Table::Column> columns_for(SiteOrder order) {
  std::vector<Table::Column> columns;
  bool is_first = true;
  for (const SiteColumn& column : kColumns) {
    columns.push_back(column.column);
    if (column.order == order && std::exchange(is_first, false)) columns.back().yields = 0;
  }
  columns.push_back({"WHERE", Table::Align::left});
  return columns;
}

// Of the columns that the table has.
std::string legend_of(const Report& report, const std::vector<std::string>& titles,
                      const Page& page) {
  std::string text;
  for (const SiteColumn& column : kColumns) {
    const bool is_there =
        std::find(titles.begin(), titles.end(), column.column.title) != titles.end();
    if (is_there && *column.legend != '\0') text += std::string(" ") + column.legend;
  }
  if (is_of_several(report)) text += " AT PEAK: of each process, when its memory held most.";
  return paragraph("Bytes are requested bytes." + text, page);
}

std::string remarks(const Report& report, std::size_t left_out, const Page& page) {
  std::string result;
  if (left_out != 0) result += "  and " + counted(left_out, "more site") + "\n";
  if (report.sample_bytes != 0) {
    result += paragraph("All numbers are " + sampling_text(report) + ".", page);
  }
  if (report.dropped_stacks == 0) return result;
  return result + paragraph(counted(report.dropped_stacks, "call") +
                                " came from call sites beyond those that fit, and are not listed.",
                            page);
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
std::string sites_tree(const Report& report, SiteOrder order, const NameFrame& name,
                       const Page& page, std::size_t most) {
  const auto tree = [&](std::vector<Share> shares, const char* title) {
    shares = in_order(std::move(shares), all_in_order(report, order), report.sites.size());
    return tree_text(report, name, shares, title, page, most);
  };
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

}  // namespace

Columns<std::size_t> site_columns(const Report& report, const NameFrame& name) {
  using Row = std::size_t;
  const auto cells = std::make_shared<SiteCells>(report, name);
  const auto index = [](Row row) { return static_cast<std::int64_t>(row); };
  Columns<Row> columns;
  const auto add = [&](const char* title, std::function<CellValue(const Site&)> cell) {
    columns.push_back({title, [&report, cell](Row row) { return cell(report.sites[row]); }});
  };
  add_site_numbers<Row>(columns, cells, index);
  add("peak_bytes", [](const Site& site) { return numbers_of(site).peak_bytes; });
  add("live_bytes", [](const Site& site) { return numbers_of(site).live_bytes; });
  add("live_count", [](const Site& site) { return numbers_of(site).live_count; });
  add("total_bytes", [](const Site& site) { return numbers_of(site).total_bytes; });
  add("total_count", [](const Site& site) { return numbers_of(site).total_count; });
  add("total_ns", [](const Site& site) { return numbers_of(site).total_ns; });
  add("estimated", [](const Site& site) { return site.estimate.has_value(); });
  add("temporary_count", [](const Site& site) { return site.temporary_count; });
  add("growth_intervals", [](const Site& site) { return number(growth_of(site).rises); });
  add("intervals", [](const Site& site) { return number(growth_of(site).intervals); });
  add("growth_bytes", [](const Site& site) { return growth_of(site).bytes; });
  add("tenths_of_growth", [](const Site& site) { return number(tenths_of_growth(site)); });
  add("lifetimes", [](const Site& site) { return numbers(site.lifetimes); });
  add("sizes", [](const Site& site) { return numbers(site.sizes); });
  add("live_by_age", [](const Site& site) { return numbers(site.live_by_age); });
  add("live_past", [](const Site& site) { return numbers(site.live_past); });
  add_stack<Row>(columns, cells, index);
  return columns;
}

std::string all_sites_text(const Report& report, SiteOrder order, const NameFrame& name,
                           const Page& page, const RowChoice& choice) {
  const std::vector<std::size_t> sites = arranged(report, order, name, choice);
  if (sites.empty()) return nothing_text(report);
  if (page.stacks == Stacks::as_tree) {
    return sites_tree(report, order, name, page, choice.most) + remarks(report, 0, page) +
           totals_text(report, page);
  }
  SiteListing table(report, name, columns_for(order), SiteListing::Calls::shown);
  const std::size_t shown = rows_shown(sites.size(), choice.most);
  for (std::size_t i = 0; i < shown; ++i) {
    table.add(cells_of(report.sites[sites[i]]), static_cast<std::int64_t>(sites[i]));
  }
  const SiteListing::Drawn rows = table.drawn(page);
  return rows.text + remarks(report, sites.size() - shown, page) + "\n" +
         legend_of(report, rows.titles, page) + totals_text(report, page);
}

std::string all_sites_json(const Report& report, SiteOrder order, const NameFrame& name,
                           const RowChoice& choice) {
  JsonText json;
  json.array();
  add_objects(json, arranged(report, order, name, choice), site_columns(report, name), choice.most);
  return json.end().text();
}

void add_sites_csv(CsvText& csv, const Report& report, SiteOrder order, const NameFrame& name,
                   const RowChoice& choice) {
  add_rows(csv, arranged(report, order, name, choice), site_columns(report, name), choice.most);
}

}  // namespace vramscope
