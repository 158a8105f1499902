// Every call site with what it held, how long, and whether it grows.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/sites_text.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "reporter/report/report.h"
#include "reporter/view/text/digest.h"
#include "reporter/view/text/json_text.h"

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

// "cudaMalloc: main (train.cu:94)".
std::string call_and_place(const CallSite& site) {
  return site.entry.empty() ? text(site) : site.entry + ": " + text(site);
}

template <class List>
void numbers(JsonText& json, std::string_view key, const List& list) {
  json.key(key).array();
  for (const std::uint64_t number : list) json.value(number);
  json.end();
}

}  // namespace

std::optional<SiteOrder> site_order(std::string_view name) {
  const auto found = std::find(kSiteOrderNames.begin(), kSiteOrderNames.end(), name);
  if (found == kSiteOrderNames.end()) return std::nullopt;
  return static_cast<SiteOrder>(found - kSiteOrderNames.begin());
}

std::size_t tenths_of_growth(const Site& site) {
  return static_cast<std::size_t>(std::count_if(site.live_by_age.begin(), site.live_by_age.end(),
                                                [](std::uint64_t bytes) { return bytes != 0; }));
}

std::vector<std::size_t> sites_in_order(const Report& report, SiteOrder order, std::size_t most) {
  std::vector<std::size_t> sites = all_in_order(report, order);
  sites.resize(rows_shown(sites.size(), most));
  return sites;
}

Growth growth_of(const Site& site) {
  std::vector<std::uint64_t> live = {0};  // at the beginning
  live.insert(live.end(), site.live_past.begin(), site.live_past.end());
  live.push_back(site.totals.live_bytes);
  Growth growth{.rises = 0, .intervals = live.size() - 1, .bytes = 0};
  for (std::size_t i = live.size() - 1; i > 0 && live[i] >= live[i - 1]; --i) {
    growth.rises += live[i] > live[i - 1] ? 1 : 0;
    growth.bytes = live.back() - live[i - 1];
  }
  return growth;
}

std::string all_sites_text(const Report& report, SiteOrder order, const NameFrame& name,
                           const Page& page, std::size_t most) {
  using enum Table::Align;
  Table table({{"AT PEAK", right},
               {"NOW", right},
               {"TOTAL", right},
               {"COUNT", right},
               {"TIME", right},
               {"TEMP", right},
               {"LIFE", right},
               {"GREW", right},
               {"WHERE", left}});
  const std::vector<std::size_t> sites = all_in_order(report, order);
  std::string written;  // last
  const std::size_t shown = rows_shown(sites.size(), most);
  for (std::size_t i = 0; i < shown; ++i) {
    const Site& site = report.sites[sites[i]];
    const SiteTotals& totals = numbers_of(site);
    const CallSite where = call_site(report, site, name, kFramesShown);
    table.add({bytes_text(totals.peak_bytes), bytes_text(totals.live_bytes),
               bytes_text(totals.total_bytes), count_text(totals.total_count),
               duration_text(totals.total_ns),
               percent_text(site.temporary_count, site.totals.total_count),
               lifetime_text(site.lifetimes), growth_text(growth_of(site)),
               printable(call_and_place(where), page)});
    add_source_line(table, where, page, written);
  }
  std::string result = table.text(page);
  if (shown < sites.size()) {
    result += "  and " + counted(sites.size() - shown, "more site") + "\n";
  }
  if (report.sample_bytes != 0) result += "  All numbers are " + sampling_text(report) + ".\n";
  if (report.dropped_stacks != 0) {
    result += "  " + counted(report.dropped_stacks, "call") +
              " came from call sites beyond those that fit, and are not listed.\n";
  }
  return result +
         "\n  AT PEAK, NOW, TOTAL: requested bytes.\n"
         "  TEMP: freed before the thread allocated again. LIFE: half of what was freed lived "
         "less.\n"
         "  GREW: intervals of the run over which its live bytes rose, since they last fell.\n";
}

std::string all_sites_json(const Report& report, SiteOrder order, const NameFrame& name,
                           std::size_t most) {
  JsonText json;
  json.array();
  for (const std::size_t index : sites_in_order(report, order, most)) {
    const Site& site = report.sites[index];
    const SiteTotals& totals = numbers_of(site);
    const CallSite where = call_site(report, site, name, kFramesInJson);
    json.object().field("site", index).field("called", where.entry);
    json.field("peak_bytes", totals.peak_bytes).field("live_bytes", totals.live_bytes);
    json.field("live_count", totals.live_count).field("total_bytes", totals.total_bytes);
    json.field("total_count", totals.total_count).field("total_ns", totals.total_ns);
    json.field("estimated", site.estimate.has_value());
    json.field("temporary_count", site.temporary_count);
    const Growth growth = growth_of(site);
    json.field("growth_intervals", growth.rises).field("intervals", growth.intervals);
    json.field("growth_bytes", growth.bytes);
    json.field("tenths_of_growth", tenths_of_growth(site));
    numbers(json, "lifetimes", site.lifetimes);
    numbers(json, "sizes", site.sizes);
    numbers(json, "live_by_age", site.live_by_age);
    numbers(json, "live_past", site.live_past);
    json.key("frames").array();
    for (const Caller& caller : where.callers) json.value(text(caller));
    json.end().field("line", source_line(where)).end();
  }
  return json.end().text();
}

}  // namespace vramscope
