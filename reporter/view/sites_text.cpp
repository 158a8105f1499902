// Every call site with what it held, how long, and whether it grows.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "reporter/view/attribution_text.h"
#include "reporter/view/json_text.h"

namespace vramscope {
namespace {

constexpr std::size_t kFramesShown = 3;
constexpr std::size_t kFramesInJson = 16;
constexpr std::array<std::string_view, 7> kOrders{"peak", "live",      "total", "count",
                                                  "time", "temporary", "growth"};

std::string bytes_of(std::uint64_t bytes) { return bytes_text(static_cast<std::int64_t>(bytes)); }
std::string count_of(std::uint64_t count) { return count_text(static_cast<std::int64_t>(count)); }

std::uint64_t rank(const Site& site, SiteOrder order) {
  switch (order) {
    case SiteOrder::peak:
      return site.totals.peak_bytes;
    case SiteOrder::live:
      return site.totals.live_bytes;
    case SiteOrder::total:
      return site.totals.total_bytes;
    case SiteOrder::count:
      return site.totals.total_count;
    case SiteOrder::time:
      return site.totals.total_ns;
    case SiteOrder::temporary:
      return site.temporary_count;
    case SiteOrder::growth:
      return tenths_of_growth(site);
  }
  return 0;
}

std::vector<std::size_t> in_order(const Report& report, SiteOrder order) {
  std::vector<std::size_t> sites(report.sites.size());
  std::iota(sites.begin(), sites.end(), std::size_t{0});
  std::stable_sort(sites.begin(), sites.end(), [&](std::size_t a, std::size_t b) {
    return rank(report.sites[a], order) > rank(report.sites[b], order);
  });
  return sites;
}

// The decade in which half of what was freed had been freed: "< 10 us".
std::string lifetime_text(const std::vector<std::uint64_t>& lifetimes) {
  constexpr std::array<const char*, kLifetimes> kDecades{
      "< 1 us",   "< 10 us", "< 100 us", "< 1 ms",  "< 10 ms",
      "< 100 ms", "< 1 s",   "< 10 s",   "< 100 s", ">= 100 s"};
  const std::uint64_t all = std::accumulate(lifetimes.begin(), lifetimes.end(), std::uint64_t{0});
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < std::min(lifetimes.size(), kDecades.size()); ++i) {
    seen += lifetimes[i];
    if (seen != 0 && seen >= all - seen) return kDecades[i];
  }
  return "-";
}

template <class List>
void numbers(JsonText& json, std::string_view key, const List& list) {
  json.key(key).array();
  for (const std::uint64_t number : list) json.value(number);
  json.end();
}

std::size_t limited(std::size_t size, std::size_t most) {
  return most == 0 ? size : std::min(size, most);
}

}  // namespace

std::optional<SiteOrder> site_order(std::string_view name) {
  const auto found = std::find(kOrders.begin(), kOrders.end(), name);
  if (found == kOrders.end()) return std::nullopt;
  return static_cast<SiteOrder>(found - kOrders.begin());
}

std::size_t tenths_of_growth(const Site& site) {
  return static_cast<std::size_t>(std::count_if(site.live_by_age.begin(), site.live_by_age.end(),
                                                [](std::uint64_t bytes) { return bytes != 0; }));
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
  const std::vector<std::size_t> sites = in_order(report, order);
  std::string written;  // last
  const std::size_t shown = limited(sites.size(), most);
  for (std::size_t i = 0; i < shown; ++i) {
    const Site& site = report.sites[sites[i]];
    const std::size_t growth = tenths_of_growth(site);
    const CallSite where = call_site(report, site, name, kFramesShown);
    table.add({bytes_of(site.totals.peak_bytes), bytes_of(site.totals.live_bytes),
               bytes_of(site.totals.total_bytes), count_of(site.totals.total_count),
               duration_text(site.totals.total_ns),
               percent_text(site.temporary_count, site.totals.total_count),
               lifetime_text(site.lifetimes), growth == 0 ? "-" : std::to_string(growth) + "/10",
               printable(text(where), page)});
    add_source_line(table, where, page, written);
  }
  std::string result = table.text(page);
  if (shown < sites.size()) {
    result += "  and " + counted(sites.size() - shown, "more site") + "\n";
  }
  return result +
         "\n  TEMP: freed before the thread allocated again. LIFE: half of what was freed lived "
         "less.\n"
         "  GREW: tenths of the run from which bytes are still there.\n";
}

std::string all_sites_json(const Report& report, SiteOrder order, const NameFrame& name,
                           std::size_t most) {
  JsonText json;
  json.array();
  const std::vector<std::size_t> sites = in_order(report, order);
  for (std::size_t i = 0; i < limited(sites.size(), most); ++i) {
    const Site& site = report.sites[sites[i]];
    const SiteTotals& totals = site.totals;
    const CallSite where = call_site(report, site, name, kFramesInJson);
    json.object().field("site", sites[i]).field("called", where.entry);
    json.field("peak_bytes", totals.peak_bytes).field("live_bytes", totals.live_bytes);
    json.field("live_count", totals.live_count).field("total_bytes", totals.total_bytes);
    json.field("total_count", totals.total_count).field("total_ns", totals.total_ns);
    json.field("temporary_count", site.temporary_count);
    json.field("tenths_of_growth", tenths_of_growth(site));
    numbers(json, "lifetimes", site.lifetimes);
    numbers(json, "sizes", site.sizes);
    numbers(json, "live_by_age", site.live_by_age);
    json.key("frames").array();
    for (const Caller& caller : where.callers) json.value(text(caller));
    json.end().field("line", source_line(where)).end();
  }
  return json.end().text();
}

}  // namespace vramscope
