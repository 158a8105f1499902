// Sites of one function, file or line: groups of them are sums, whatever is called alike.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "reporter/view/text/site_groups.h"
#include "test/view/sample_report.h"

namespace vramscope {
namespace {

using nlohmann::json;

// Site 0 is of make_weights, 1 of a library without names, 2 of main and pinned.
TEST(Groups, AreSumsOfAllSites) {
  Report report = sample_report();
  report.sites.push_back(report.sites[0]);  // once more, from elsewhere in make_weights
  report.sites.back().parts[0].totals.peak_bytes = 1 << 20;

  const auto rows = [&](GroupBy by, std::size_t most = 0) {
    return json::parse(json_of(group_rows(report, by, SiteOrder::peak, sample_names(), {most, ""}),
                               group_columns(by, RunHistory::known)));
  };

  const json functions = rows(GroupBy::function);
  ASSERT_EQ(functions.size(), 3U);
  EXPECT_EQ(functions[0]["name"], "make_weights (train.cpp)");
  EXPECT_EQ(functions[0]["peak_bytes"], (512 << 20) + (1 << 20));
  EXPECT_EQ(functions[0]["site_count"], 2);
  EXPECT_EQ(functions[1]["name"], "libnet.so") << "nobody knows its functions";
  EXPECT_EQ(functions[2]["kind"], "pinned") << "kinds are not added";
  EXPECT_EQ(rows(GroupBy::function, 1).size(), 1U);
  EXPECT_EQ(rows(GroupBy::file)[0]["name"], "train.cpp");
  EXPECT_EQ(rows(GroupBy::line)[0]["name"], "train.cpp:42");
  EXPECT_EQ(rows(GroupBy::library)[0]["name"], "train");
  EXPECT_EQ(rows(GroupBy::library)[1]["name"], "libnet.so");
}

TEST(Groups, RowsAreCutAfterwards) {
  const Report report = sample_report();

  const std::string text = render(
      groups_text(report, GroupBy::library, SiteOrder::peak, sample_names(), Page{}, {1, ""}),
      Page{});

  EXPECT_NE(text.find("AT PEAK   SHARE  NOW"), text.npos) << text;
  EXPECT_NE(text.find("\n  512 MiB  66.7 %"), text.npos) << text;
  EXPECT_NE(text.find("  GPU 0   train\n  and 2 more libraries\n"), text.npos) << text;
}

TEST(Groups, OfOneNameInSeveralFilesAreToldApart) {
  Report report = sample_report();
  report.frames.push_back({.module = 0, .offset = 0x91});
  report.sites.push_back(report.sites[0]);
  report.sites.back().frames.back() = static_cast<std::uint32_t>(report.frames.size() - 1);
  std::vector<std::uint32_t>& frames = report.sites.back().frames;
  frames = {frames.back()};
  NameFrame names = [](const Report& of, const FrameFact& frame) -> std::vector<SourceFrame> {
    if (frame.offset == 0x91) return {{"make_weights(int, float)", "/other/train.cpp", 42}};
    return sample_names()(of, frame);
  };

  const std::string text =
      render(groups_text(report, GroupBy::line, SiteOrder::peak, names, Page{}, {0, ""}), Page{});

  EXPECT_NE(text.find("  /src/train.cpp:42\n"), text.npos) << text;
  EXPECT_NE(text.find("  /other/train.cpp:42\n"), text.npos) << text;
}

// What all call is no place: nothing could be told apart by it.
TEST(Groups, BeginBehindWrappers) {
  const std::string text = render(groups_text(golden_report(), GroupBy::function, SiteOrder::peak,
                                              golden_names(), Page{}, {0, ""}),
                                  Page{});

  EXPECT_NE(text.find("  load_epoch (loader.cpp)\n"), text.npos) << text;
  EXPECT_EQ(text.find("thrust::"), text.npos) << text;
}

}  // namespace
}  // namespace vramscope
