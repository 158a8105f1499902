// What a filter and its opposite leave adds up to the whole, whatever the listing: rows, shares,
// sums and the last line.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <regex>
#include <string>
#include <vector>

#include "reporter/view/analysis/filter/filter.h"
#include "reporter/view/analysis/leaks/leaks.h"
#include "reporter/view/analysis/memory_map.h"
#include "reporter/view/analysis/report_figures.h"
#include "reporter/view/text/axis_text.h"
#include "reporter/view/text/check_text.h"
#include "reporter/view/text/filter_text.h"
#include "reporter/view/text/owners_text.h"
#include "reporter/view/text/peak_text.h"
#include "reporter/view/text/report_text.h"
#include "reporter/view/text/sites_text.h"
#include "reporter/view/text/timeline_text.h"
#include "reporter/view/text/totals_text.h"

namespace vramscope {
namespace {

constexpr std::uint64_t kKiB = 1024;
constexpr std::size_t kSites = 10;
constexpr Kind kSomeKinds[] = {Kind::device, Kind::pinned, Kind::stream_ordered};

// Site i is in function f<i>, of a library that is told by i % 3.
NameFrame names() {
  return [](const Report&, const FrameFact& frame) -> std::vector<SourceFrame> {
    return {{"f" + std::to_string(frame.offset), "/src/f.cpp", 7}};
  };
}

SiteTotals totals_of(std::size_t site, std::size_t part) {
  const std::uint64_t n = site + 3 * part + 1;
  return {.live_bytes = n * kKiB,
          .live_count = n,
          .peak_bytes = 5 * n * kKiB,
          .peak_count = 2 * n,
          .total_bytes = 70 * n * kKiB,
          .total_count = 40 * n,
          .total_ns = 1000 * n};
}

KindFacts& kind_of(Report& report, const SitePart& part) {
  for (KindFacts& kind : report.kinds) {
    if (kind.kind == part.kind && kind.device == part.device) return kind;
  }
  return report.kinds.emplace_back(KindFacts{.kind = part.kind, .device = part.device});
}

void add_site(Report& report, std::size_t number) {
  Site site{.frames = {static_cast<std::uint32_t>(number)}, .totals = {}, .parts = {}};
  for (std::size_t p = 0; p < 1 + number % 2; ++p) {  // every second one in two kinds of memory
    const Kind kind = kSomeKinds[(number + p) % 3];
    const auto device = static_cast<std::uint16_t>(has_device(kind) ? number / 3 % 2 : 0);
    const SitePart part{.kind = kind, .device = device, .totals = totals_of(number, p)};
    site.parts.push_back(part);
    site.totals += part.totals;
    KindFacts& facts = kind_of(report, part);
    facts.current_bytes += part.totals.live_bytes;
    facts.peak_bytes += part.totals.peak_bytes;
    facts.allocations += part.totals.total_count;
    facts.frees += part.totals.total_count - part.totals.live_count;
    for (const auto& [axis, value] : {std::pair(Axis::owner, "lib" + std::to_string(number % 3)),
                                      std::pair(Axis::thread, "t" + std::to_string(number % 2))}) {
      report.axes.push_back({.axis = axis,
                             .value = value,
                             .device = device,
                             .kind = kind,
                             .own_peak_bytes = part.totals.peak_bytes,
                             .totals = part.totals});
    }
  }
  site.temporary_count = number;
  site.lifetimes = {site.totals.total_count};
  report.sites.push_back(site);
}

Report whole() {
  Report report;
  report.trigger = "exit";
  report.process.executable = "/app/x";
  for (std::uint16_t device = 0; device < 2; ++device) {
    report.devices.emplace_back().facts.index = device;
  }
  for (std::uint32_t i = 0; i < 3; ++i) {
    report.modules.push_back(
        {.path = "/lib/lib" + std::to_string(i) + ".so", .build_id = "", .base = 0});
  }
  for (std::uint32_t i = 0; i < kSites; ++i)
    report.frames.push_back({.module = i % 3, .offset = i});
  for (std::size_t i = 0; i < kSites; ++i) add_site(report, i);
  for (AxisEntry& row : report.axes) {
    if (row.axis == Axis::owner) row.value += ".so";
  }
  return report;
}

std::uint64_t number_in(const std::string& text, const std::string& pattern) {
  std::smatch found;
  if (!std::regex_search(text, found, std::regex(pattern))) return 0;
  return std::stoull(std::regex_replace(found[1].str(), std::regex(","), ""));
}

using Figures = std::map<std::string, std::uint64_t>;

std::string report_of(const Report& report, const Page& page) {
  return render(report_text({report, "r", leaked_of(report, {})}, {}, page, 0), page);
}

// Of all that views add up: what sites have, and what each listing says in its own words.
Figures figures_of(const Report& report) {
  Figures figures;
  for (const Share& share : shares_of_peak(report)) figures["at peak"] += share.bytes;
  for (const Share& share : shares_alive(report)) figures["alive"] += share.bytes;
  for (const KindFacts& kind : report.kinds) {
    figures["kinds' peaks"] += kind.peak_bytes;
    figures["kinds' bytes"] += kind.current_bytes;
    figures["kinds' allocations"] += kind.allocations;
    figures["kinds' frees"] += kind.frees;
  }
  const Leaks leaks = leaks_of(report, {}, {});
  figures["leaked"] = leaks.without_site;
  for (const Leak& leak : leaks.leaks) figures["leaked"] += leak.share.bytes;
  const CheckLimits limits{.peak = 0, .leak = 0, .total = 0, .allocations = 0};
  for (const Check& check : checks_of(report, "r", limits, {}, {}).checks) {
    const bool is_peak = check.what.find("peak") != std::string::npos;
    if (!is_peak) figures["check: " + check.what] += check.value;
  }
  const Page page{.width = 300, .unicode = true};
  for (const auto& [name, text] :
       {std::pair<std::string, std::string>(
            "sites", render(all_sites_text(report, SiteOrder::peak, {}, page, 0), page)),
        {"peak", render(peak_text(report, peak_answer(report, {}), {}, page, 0), page)},
        {"report", report_of(report, page)}}) {
    figures[name + ": allocations"] = number_in(text, "Total: ([0-9,]+) allocation");
    figures[name + ": leaked"] = number_in(text, "never freed .* in ([0-9,]+) allocation");
  }
  return figures;
}

void add(Figures& sums, const Figures& more) {
  for (const auto& [name, figure] : more) sums[name] += figure;
}

Report left_by(const Filter& filter, const FilterUse& use = {}) {
  Report report = whole();
  EXPECT_EQ(cannot_filter(filter, use), "");
  EXPECT_EQ(missing_from(report, filter), "");
  filter_report(report, filter, use, names());
  return report;
}

void expect_whole(const std::vector<Filter>& partition, const char* what) {
  Figures sums;
  for (const Filter& filter : partition) add(sums, figures_of(left_by(filter)));
  const Figures all = figures_of(whole());
  EXPECT_GT(all.at("sites: allocations"), 0U);
  for (const auto& [name, figure] : all) EXPECT_EQ(sums[name], figure) << what << ": " << name;
}

TEST(FilterSums, KindsAddUpToTheWhole) {
  expect_whole({{.kind = "device"}, {.kind = "pinned"}, {.kind = "async"}}, "kinds");
}

TEST(FilterSums, DevicesAndTheHostAddUpToTheWhole) {
  expect_whole({{.device = 0}, {.device = 1}, {.kind = "pinned"}}, "devices");
}

TEST(FilterSums, OwnersAddUpToTheWhole) {
  expect_whole({{.owner = "lib0.so"}, {.owner = "lib1.so"}, {.owner = "lib2.so"}}, "owners");
}

TEST(FilterSums, CallStacksAddUpToTheWhole) {
  expect_whole({{.site = "^f[0-4]$"}, {.site = "^f[5-9]$"}}, "sites");
}

TEST(FilterSums, SeveralFiltersAtOnceAddUpToTheWhole) {
  std::vector<Filter> partition;
  for (const char* const kind : {"device", "pinned", "stream_ordered"}) {
    for (const char* const site : {"^f[0-4]$", "^f[5-9]$"}) {
      partition.push_back({.kind = kind, .site = site});
    }
  }
  expect_whole(partition, "kinds and sites");
}

// Of a listing by an axis the last line is of its rows.
Figures axis_figures(const Report& report, Axis axis) {
  const Page page{.width = 300};
  const std::string text =
      render(axis == Axis::owner ? owners_text(report, owners_answer(report, {}), page, 0)
                                 : axis_text(report, axis, {}, page, 0),
             page);
  return {{"allocations", number_in(text, "Total: ([0-9,]+) allocation")},
          {"leaked", number_in(text, "never freed .* in ([0-9,]+) allocation")}};
}

TEST(FilterSums, ListingsByAnAxisAddUpToTheWhole) {
  Figures owners, threads;
  for (const char* const owner : {"lib0.so", "lib1.so", "lib2.so"}) {
    add(owners, axis_figures(left_by({.owner = owner}, {.axis = Axis::owner}), Axis::owner));
  }
  for (const char* const thread : {"t0", "t1"}) {
    add(threads, axis_figures(left_by({.thread = thread}, {.axis = Axis::thread}), Axis::thread));
  }

  EXPECT_EQ(owners, axis_figures(whole(), Axis::owner));
  EXPECT_EQ(threads, axis_figures(whole(), Axis::thread));
  EXPECT_GT(owners.at("allocations"), 0U);
}

TEST(FilterSums, WhatIsOfAllSaysSo) {
  const Report report = left_by({.site = "^f0$"});

  const std::string peak = render(
      peak_text(report, peak_answer(report, names()), names(), {.width = 300}, 0), {.width = 300});
  EXPECT_NE(peak.find("GPU 0: 5.00 KiB of all "), std::string::npos) << peak;
  EXPECT_NE(peak.find("the peak without the filter was reached after"), std::string::npos) << peak;
  EXPECT_NE(render(totals_text(report, NameFrame()), Page{.width = 300})
                .find("at the peak of GPU 0 5.00 KiB of all "),
            std::string::npos);
  EXPECT_NE(report_of(report, {.width = 300}).find("GPU 0, 5.00 KiB of all "), std::string::npos);
}

TEST(FilterSums, WhatIsNotKnownOfAPartIsNotTold) {
  const Report report = left_by({.kind = "pinned"});

  for (const Site& site : report.sites) {
    EXPECT_TRUE(!site.is_part || site.temporary_count == 0);
    EXPECT_TRUE(!site.is_part || site.lifetimes.empty());
  }
  EXPECT_TRUE(report.sites.front().is_part) << "f1 has pinned memory and another kind";
}

}  // namespace
}  // namespace vramscope
