// What listings print on pages of 60, 80 and 200 columns, and in a pipe, are the texts in golden/.
// With VRAMSCOPE_WRITE_GOLDEN in the environment they are written anew.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <sstream>

#include "reporter/report/report.h"
#include "reporter/view/text/owners_text.h"
#include "reporter/view/text/peak_text.h"
#include "reporter/view/text/report_text.h"
#include "reporter/view/text/sites_text.h"
#include "test/view/sample_report.h"

namespace vramscope {
namespace {

constexpr std::size_t kInAPipe = 0;

struct Listing {
  const char* name;
  std::function<std::string(const Page&)> text;
  Stacks stacks = Stacks::in_rows;
};

std::vector<Listing> listings() {
  static const Report report = golden_report();
  static const NameFrame name = golden_names();
  const auto screen = [](const Page& page) {
    return report_text(report, "r.json", name, page, kReportSites);
  };
  const auto sites = [](const Page& page) {
    return all_sites_text(report, SiteOrder::peak, name, page, 20);
  };
  const auto peak = [](const Page& page) { return peak_text(report, name, page, 10); };
  return {{"report", screen},
          {"report_full", screen, Stacks::in_full},
          {"report_tree", screen, Stacks::as_tree},
          {"sites", sites},
          {"sites_full", sites, Stacks::in_full},
          {"sites_tree", sites, Stacks::as_tree},
          {"peak", peak},
          {"peak_full", peak, Stacks::in_full},
          {"peak_tree", peak, Stacks::as_tree},
          {"owners", [](const Page& page) { return owners_text(report, page, 20); }},
          {"owners_by_owner",
           [](const Page& page) { return axis_text(report, Axis::owner, page, 20); }}};
}

Page page_of(std::size_t width, Stacks stacks) {
  Page page{.width = width == kInAPipe ? 100 : width, .unicode = true};
  page.cuts = width != kInAPipe;
  page.stacks = stacks;
  return page;
}

std::string path_of(const std::string& name, std::size_t width) {
  std::string path = VRAMSCOPE_GOLDEN;
  path.append("/").append(name).append(".");
  return path.append(width == kInAPipe ? "pipe" : std::to_string(width)).append(".txt");
}

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(Golden, TextsAreThoseThatAreKept) {
  setenv("TZ", "UTC", 1);
  const bool writes = std::getenv("VRAMSCOPE_WRITE_GOLDEN") != nullptr;
  for (const Listing& listing : listings()) {
    for (const std::size_t width : {std::size_t{60}, std::size_t{80}, std::size_t{200}, kInAPipe}) {
      const std::string text = listing.text(page_of(width, listing.stacks));
      const std::string path = path_of(listing.name, width);
      if (writes) std::ofstream(path, std::ios::binary) << text;
      EXPECT_EQ(content_of(path), text) << path;
    }
  }
}

// Paths of files are never broken: people copy them.
bool may_be_longer(const std::string& line) {
  const std::size_t first = std::min(line.find_first_not_of(' '), line.size());
  return line.compare(first, 3, "at ") == 0 || line.compare(first, 3, "in ") == 0;
}

TEST(Golden, NoLineIsLongerThanItsPage) {
  for (const Listing& listing : listings()) {
    for (std::size_t width = 60; width <= 200; ++width) {
      std::istringstream lines(listing.text(page_of(width, listing.stacks)));
      for (std::string line; std::getline(lines, line);) {
        if (may_be_longer(line)) continue;
        EXPECT_LE(columns(line), width) << listing.name << ": " << line;
      }
    }
  }
}

TEST(Golden, NothingIsCutInAPipe) {
  for (const Listing& listing : listings()) {
    if (listing.stacks != Stacks::in_rows) continue;
    const std::string text = listing.text(page_of(kInAPipe, listing.stacks));
    EXPECT_EQ(text.find("No room for"), std::string::npos) << text;
    EXPECT_EQ(text.find("...\n"), std::string::npos) << text;
    EXPECT_EQ(text.find("..\n"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace vramscope
