// Memory by owner, thread or size: a row for each value, and the sums of all.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "reporter/view/text/axis_text.h"
#include "reporter/view/text/owners_text.h"
#include "test/view/sample_report.h"

namespace vramscope {
namespace {

// It was 0 B where 50 MiB were held outside of all ranges, and freed before the peak.
TEST(Axes, OwnPeaksOfNoneAreToldWhereTheyAreKnown) {
  Report report = sample_report();
  AxisEntry entry;
  entry.axis = Axis::range;
  entry.value = "none";
  entry.totals.total_bytes = 50 << 20;
  const auto told = [&] {
    report.axes = {entry};
    return nlohmann::json::parse(axis_json(report, Axis::range, {}, {}))[0]["own_peak_bytes"];
  };
  EXPECT_TRUE(told().is_null());
  EXPECT_NE(
      render(axis_text(report, Axis::range, {}, Page{}, {}), Page{}).find("     0 B         -"),
      std::string::npos)
      << render(axis_text(report, Axis::range, {}, Page{}, {}), Page{});

  entry.totals.live_bytes = entry.own_peak_bytes = entry.totals.total_bytes;  // nothing was freed
  EXPECT_EQ(told(), 50 << 20);
  entry.totals.live_bytes = 0;
  entry.totals.peak_bytes = report.kinds[0].peak_bytes;  // all that was held at the peak
  EXPECT_EQ(told(), 50 << 20);
}

// Eight threads that use four kinds of memory, 1 MiB of each at its peak.
Report used_by_threads() {
  Report report;
  for (const Kind kind : {Kind::device, Kind::pinned, Kind::managed, Kind::stream_ordered}) {
    for (int thread = 0; thread < 8; ++thread) {
      report.axes.push_back({.axis = Axis::thread,
                             .value = "worker " + std::to_string(thread),
                             .kind = kind,
                             .own_peak_bytes = 2 << 20,
                             .totals = {.peak_bytes = 1 << 20, .total_count = 5}});
    }
  }
  return report;
}

std::size_t rows_with(const std::string& text, const std::string& part) {
  std::size_t rows = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++rows;
  return rows;
}

TEST(Axis, OfSizesSpeaksOfSizes) {
  Report report = used_by_threads();
  for (AxisEntry& row : report.axes) {
    row.axis = Axis::size_class;
    row.value = "1048576";
  }

  const std::string text =
      render(axis_text(report, Axis::size_class, {}, {.width = 300}, {0, ""}), {.width = 300});

  EXPECT_NE(text.find(" Rows of one size are adjacent"), text.npos) << text;
}

TEST(Axis, HasARowForEachValueAndMemoryThoseOfOneValueTogether) {
  const std::string text =
      render(axis_text(used_by_threads(), Axis::thread, {}, {.width = 80}, {0, ""}), {.width = 80});

  EXPECT_EQ(rows_with(text, "worker"), 32U) << text;
  EXPECT_NE(
      text.find(R"(  1.00 MiB  2.00 MiB  0 B    0 B      5     -  GPU 0                 worker 0
  1.00 MiB  2.00 MiB  0 B    0 B      5     -  pinned                worker 0
  1.00 MiB  2.00 MiB  0 B    0 B      5     -  GPU 0 managed         worker 0
  1.00 MiB  2.00 MiB  0 B    0 B      5     -  GPU 0 stream_ordered  worker 0
  1.00 MiB  2.00 MiB  0 B    0 B      5     -  GPU 0                 worker 1
)"),
      text.npos)
      << text;
  EXPECT_EQ(text.find("all together"), text.npos) << "of memories that peaked apart";
}

TEST(Axis, OfOneMemoryHasTheSumOfAllAlsoWhereRowsAreCut) {
  Report report = used_by_threads();
  std::erase_if(report.axes, [](const AxisEntry& entry) { return entry.kind != Kind::pinned; });
  const std::string cut =
      render(axis_text(report, Axis::thread, {}, {.width = 120}, {3, ""}), {.width = 120});

  EXPECT_EQ(rows_with(cut, "worker"), 3U);
  EXPECT_NE(cut.find("  8.00 MiB            0 B    0 B     40     -  pinned  all together\n"),
            cut.npos)
      << cut;
  EXPECT_NE(cut.find("and 5 more\n"), cut.npos);
}

TEST(Axis, SortedRowsStayInTheirOrder) {
  Report report = used_by_threads();
  report.axes.front().own_peak_bytes = 0;
  const std::string sorted = render(
      axis_text(report, Axis::thread, {}, {.width = 120}, {0, "own_peak_bytes"}), {.width = 120});

  EXPECT_GT(sorted.find("     0 B  0 B"), sorted.rfind("worker 7")) << sorted;
}

AxisEntry owner_at_peak(const char* owner, Kind kind, std::uint64_t bytes) {
  return {.axis = Axis::owner, .value = owner, .kind = kind, .totals = {.peak_bytes = bytes}};
}

TEST(Owners, AreThoseOfThePeakFirstAndWhatIsCachedIsSaidInWords) {
  Report report = sample_report();
  report.axes = {owner_at_peak("program", Kind::device, 504 << 20),
                 owner_at_peak("libnet.so", Kind::device, 256 << 20),
                 owner_at_peak("program", Kind::pinned, 64 << 20)};
  report.ledger.push_back(
      {.kind = "device", .owner = "libnet.so", .peak_bytes = 300 << 20, .calls = 5});
  report.ledger.push_back({.kind = "cached", .owner = "vramscope", .device_bytes = 1020 << 20});

  const std::string text =
      render(owners_text(report, owners_answer(report, {}), {.width = 120}, 0), {.width = 120});

  EXPECT_TRUE(
      text.starts_with("At the peak of each kind of memory, requested bytes: GPU 0 760 MiB, "
                       "pinned 64.0 MiB\n"))
      << text;
  const std::size_t first = text.find("\n   504 MiB  66.3 %  ");
  const std::size_t second = text.find("\n   256 MiB  33.7 %  ");
  const std::size_t end = text.find("\nAt the end: 1.00 GiB of ");
  EXPECT_LT(first, second) << text;
  EXPECT_LT(second, end) << text;
  EXPECT_NE(text.find("1020 MiB (99.6 %) is kept by vramscope beyond what was"), text.npos) << text;
  EXPECT_EQ(rows_with(text, "cached"), 0U) << "as a row it seems to be held by somebody";
}

TEST(Owners, OfAReportThatDoesNotTellThePeakShowWhatEachHeldMost) {
  Report report = sample_report();
  report.axes.clear();

  const std::string text =
      render(owners_text(report, owners_answer(report, {}), {.width = 120}, 0), {.width = 120});

  EXPECT_NE(text.find("  OWN PEAK       NOW  CALLS  MEMORY  OWNER\n"
                      "   760 MiB  4.00 MiB  1,000  GPU 0   program\n"),
            text.npos)
      << text;
  EXPECT_TRUE(
      nlohmann::json::parse(owners_json(report, {0, ""}))["ledger"][0]["at_peak_bytes"].is_null());
}

}  // namespace
}  // namespace vramscope
