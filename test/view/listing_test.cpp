// Listings: JSON text, statistics, growth, histograms, functions.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "reporter/view/analysis/site_growth.h"
#include "reporter/view/listing/json_text.h"
#include "reporter/view/text/functions_text.h"
#include "reporter/view/text/sites_text.h"
#include "reporter/view/text/stats_text.h"
#include "test/view/sample_report.h"

namespace vramscope {
namespace {

using nlohmann::json;

TEST(JsonText, IsReadBackAsItWasWritten) {
  JsonText text;
  text.object().field("text", "a \"b\"\\\n\x01").field("number", UINT64_MAX);
  text.key("list").array().value(-1).value(true).null().end();
  text.key("empty").object().end().end();

  const json read = json::parse(text.text());

  EXPECT_EQ(read["text"], "a \"b\"\\\n\x01");
  EXPECT_EQ(read["number"], UINT64_MAX);
  EXPECT_EQ(read["list"], json::parse("[-1, true, null]"));
  EXPECT_TRUE(read["empty"].empty());
}

TEST(JsonText, BytesThatAreNoTextAreReplaced) {
  JsonText text;
  text.array().value("a\xff").end();

  EXPECT_EQ(json::parse(text.text())[0], "a\ufffd");
}

TEST(Stats, OfOneDeviceAreItsDictionaryAlone) {
  const auto text = stats_json(sample_report(), {.device = 0});

  const json read = json::parse(text.value());
  EXPECT_EQ(read["allocated_bytes.all.peak"], 768 << 20);
  EXPECT_EQ(read["allocated.all.allocated"], 1000);
  EXPECT_EQ(read["max_split_size"], -1);
}

TEST(Stats, OfAllDevicesComeWithTheHosts) {
  const json read = json::parse(stats_json(sample_report(), {}).value());

  EXPECT_EQ(read["devices"]["0"]["num_ooms"], 0);
  EXPECT_TRUE(read["devices"]["1"].empty());
  EXPECT_EQ(read["host"]["num_host_alloc"], 4);
  EXPECT_EQ(read["host"]["host_alloc_time.total"], 2000);
}

TEST(Stats, AsTextAlignValuesAndReadBytes) {
  const std::string text =
      render(stats_text(sample_report(), {.device = 0, .most = 3}, Page{}), Page{});

  EXPECT_EQ(text,
            "GPU 0  NVIDIA H200  memory_stats\n"
            "  active.all.allocated  0\n"
            "  active.all.current    0\n"
            "  active.all.freed      0\n");
  EXPECT_NE(render(stats_text(sample_report(), {}, Page{}), Page{}).find("805306368  768 MiB\n"),
            std::string::npos);
  EXPECT_NE(render(stats_text(sample_report(), {}, Page{}), Page{}).find("never used"),
            std::string::npos);
}

// The second one's once stood a screen and a half below the first one's.
TEST(Stats, SummariesOfSeveralDevicesStandTogetherAboveTheKeys) {
  Report report = sample_report();
  report.devices[1] = report.devices[0];
  report.devices[1].facts.index = 1;

  const std::string text = render(stats_text(report, {}, Page{}), Page{});

  const std::size_t second = text.find("\nGPU 1  ");
  EXPECT_LT(second, text.find("active.all.allocated"));
  EXPECT_NE(text.find("\nGPU 1  ", second + 1), text.npos) << "its keys have a title of their own";
}

TEST(Stats, OfADeviceThatIsNotThereAreNothing) {
  EXPECT_TRUE(stats_text(sample_report(), {.device = 2}, Page{}).is_empty());
  EXPECT_FALSE(stats_json(sample_report(), {.device = 2}));
}

Site with_past(std::vector<std::uint64_t> past, std::uint64_t now) {
  Site site;
  site.live_past = std::move(past);
  site.totals.live_bytes = now;
  return site;
}

TEST(Growth, IsWhatRoseSinceItLastFell) {
  const Growth rising = growth_of(with_past({10, 20, 30, 40}, 50));
  const Growth fell = growth_of(with_past({90, 20, 30, 30}, 50));
  const Growth over = growth_of(with_past({10, 20, 30, 40}, 0));
  const Growth early = growth_of(with_past({40, 40, 40, 40}, 40));

  EXPECT_EQ(rising.rises, 5U);
  EXPECT_EQ(rising.intervals, 5U);
  EXPECT_EQ(rising.bytes, 50U);
  EXPECT_EQ(fell.rises, 2U);
  EXPECT_EQ(fell.bytes, 30U);
  EXPECT_EQ(over.rises, 0U);
  EXPECT_EQ(early.rises, 1U);
}

TEST(Growth, PutsWhatKeepsGrowingFirst) {
  Report report = sample_report();
  report.sites[0].live_past = {1, 2, 3};
  report.sites[0].totals.live_bytes = 2;
  report.sites[2].live_past = {1, 2, 3};
  report.sites[2].totals.live_bytes = 4;

  const std::string text =
      render(all_sites_text(report, SiteOrder::growth, sample_names(), Page{}, 1), Page{});

  EXPECT_NE(text.find("4/4  pinned  main (train.cpp:99)\n  All by cudaMallocHost.\n"),
            std::string::npos)
      << text;
}

TEST(Histograms, ShowSizesAndLifeTimesOfEachSite) {
  Report report = sample_report();
  report.sites[0].sizes = {0, 0, 0, 6, 0, 3};
  report.sites[0].lifetimes = {0, 9};

  const std::string text =
      render(histograms_text(report, SiteOrder::peak, sample_names(), Page{.width = 80}, 1),
             Page{.width = 80});

  EXPECT_EQ(text,
            "  make_weights (train.cpp:42) < main (train.cpp:99)\n"
            "    sizes      from 4 B        [################################]  6\n"
            "               from 16 B       [################................]  3\n"
            "    lifetimes  < 10 us         [################################]  9\n");
}

// They named three.
TEST(Histograms, NameAsManyFramesAsOtherListings) {
  Report report = sample_report();
  std::vector<std::uint32_t>& frames = report.sites[0].frames;
  for (const std::uint64_t offset : {0x91, 0x92, 0x93, 0x94, 0x95, 0x96, 0x97, 0x98}) {
    frames.push_back(static_cast<std::uint32_t>(report.frames.size()));
    report.frames.push_back({.module = 0, .offset = offset});
  }
  report.sites[0].sizes = {0, 1};

  const std::string text =
      render(histograms_text(report, SiteOrder::peak, sample_names(), Page{.cuts = false}, 1),
             Page{.cuts = false});

  std::string eight = "  make_weights (train.cpp:42) < main (train.cpp:99)";
  for (int i = 1; i < 7; ++i) eight += " < train+0x9" + std::to_string(i);
  EXPECT_TRUE(text.starts_with(eight + " < ..\n")) << text;
}

TEST(Functions, AreListedWithPathAndEffect) {
  const json read = json::parse(json_of(function_rows(), function_columns()));

  const auto found = std::find_if(read.begin(), read.end(), [](const json& row) {
    return row["symbol"] == "cuMemAllocAsync_ptsz";
  });
  ASSERT_NE(found, read.end());
  EXPECT_EQ((*found)["asked_as"], "cuMemAllocAsync");
  EXPECT_EQ((*found)["since"], 11020);
  EXPECT_EQ((*found)["per_thread"], true);
  EXPECT_EQ((*found)["effect"], "allocate");
  EXPECT_EQ((*found)["kind"], "stream_ordered");
}

TEST(Functions, AreCutAtTheRowsAskedFor) {
  const auto rows = chosen_rows(function_rows(), function_columns(), 2);
  const std::string text = table_of(function_columns(), rows, Page{}).text(Page{});

  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3);
  EXPECT_EQ(json::parse(json_of(rows, function_columns())).size(), 2u);
}

}  // namespace
}  // namespace vramscope
