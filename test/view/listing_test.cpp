// Listings: JSON text, statistics, functions.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "reporter/view/analysis/site_growth.h"
#include "reporter/view/analysis/stacks/thread_names.h"
#include "reporter/view/listing/json_text.h"
#include "reporter/view/listing/thread_text.h"
#include "reporter/view/text/axis_text.h"
#include "reporter/view/text/functions_text.h"
#include "reporter/view/text/owners_text.h"
#include "reporter/view/text/peak_text.h"
#include "reporter/view/text/site_groups.h"
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
  const std::string text = stats_text(sample_report(), {.device = 0, .most = 3}, Page{}).value();

  EXPECT_EQ(text,
            "GPU 0  NVIDIA H200  memory_stats\n"
            "  active.all.allocated  0\n"
            "  active.all.current    0\n"
            "  active.all.freed      0\n");
  EXPECT_NE(stats_text(sample_report(), {}, Page{})->find("805306368  768 MiB\n"),
            std::string::npos);
  EXPECT_NE(stats_text(sample_report(), {}, Page{})->find("never used"), std::string::npos);
}

// The second one's once stood a screen and a half below the first one's.
TEST(Stats, SummariesOfSeveralDevicesStandTogetherAboveTheKeys) {
  Report report = sample_report();
  report.devices[1] = report.devices[0];
  report.devices[1].facts.index = 1;

  const std::string text = *stats_text(report, {}, Page{});

  const std::size_t second = text.find("\nGPU 1  ");
  EXPECT_LT(second, text.find("active.all.allocated"));
  EXPECT_NE(text.find("\nGPU 1  ", second + 1), text.npos) << "its keys have a title of their own";
}

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
  EXPECT_NE(axis_text(report, Axis::range, {}, Page{}, {}).find("     0 B         -"),
            std::string::npos)
      << axis_text(report, Axis::range, {}, Page{}, {});

  entry.totals.live_bytes = entry.own_peak_bytes = entry.totals.total_bytes;  // nothing was freed
  EXPECT_EQ(told(), 50 << 20);
  entry.totals.live_bytes = 0;
  entry.totals.peak_bytes = report.kinds[0].peak_bytes;  // all that was held at the peak
  EXPECT_EQ(told(), 50 << 20);
}

TEST(Stats, OfADeviceThatIsNotThereAreNothing) {
  EXPECT_FALSE(stats_text(sample_report(), {.device = 2}, Page{}));
  EXPECT_FALSE(stats_json(sample_report(), {.device = 2}));
}

Site with_past(std::vector<std::uint64_t> past, std::uint64_t now) {
  Site site;
  site.live_past = std::move(past);
  site.totals.live_bytes = now;
  return site;
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

  const std::string text = axis_text(report, Axis::size_class, {}, {.width = 300}, {0, ""});

  EXPECT_NE(text.find(" Rows of one size stand together"), text.npos) << text;
}

TEST(Axis, HasARowForEachValueAndMemoryThoseOfOneValueTogether) {
  const std::string text = axis_text(used_by_threads(), Axis::thread, {}, {.width = 80}, {0, ""});

  EXPECT_EQ(rows_with(text, "worker"), 32U) << text;
  EXPECT_NE(
      text.find(R"(  1.00 MiB  2.00 MiB  0 B    0 B      5  0 ns  GPU 0                 worker 0
  1.00 MiB  2.00 MiB  0 B    0 B      5  0 ns  pinned                worker 0
  1.00 MiB  2.00 MiB  0 B    0 B      5  0 ns  GPU 0 managed         worker 0
  1.00 MiB  2.00 MiB  0 B    0 B      5  0 ns  GPU 0 stream_ordered  worker 0
  1.00 MiB  2.00 MiB  0 B    0 B      5  0 ns  GPU 0                 worker 1
)"),
      text.npos)
      << text;
  EXPECT_EQ(text.find("all together"), text.npos) << "of memories that peaked apart";
}

TEST(Axis, OfOneMemoryHasTheSumOfAllAlsoWhereRowsAreCut) {
  Report report = used_by_threads();
  std::erase_if(report.axes, [](const AxisEntry& entry) { return entry.kind != Kind::pinned; });
  const std::string cut = axis_text(report, Axis::thread, {}, {.width = 120}, {3, ""});

  EXPECT_EQ(rows_with(cut, "worker"), 3U);
  EXPECT_NE(cut.find("  8.00 MiB            0 B    0 B     40  0 ns  pinned  all together\n"),
            cut.npos)
      << cut;
  EXPECT_NE(cut.find("and 5 more\n"), cut.npos);
}

TEST(Axis, SortedRowsStayInTheirOrder) {
  Report report = used_by_threads();
  report.axes.front().own_peak_bytes = 0;
  const std::string sorted =
      axis_text(report, Axis::thread, {}, {.width = 120}, {0, "own_peak_bytes"});

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

  const std::string text = owners_text(report, {.width = 120}, {0, ""});

  EXPECT_TRUE(
      text.starts_with("At the peak of each memory, requested bytes: GPU 0 760 MiB, "
                       "pinned 64.0 MiB\n"))
      << text;
  const std::size_t first = text.find("\n   504 MiB  66.3 %  ");
  const std::size_t second = text.find("\n   256 MiB  33.7 %  ");
  const std::size_t end = text.find("\nAt the end: 1.00 GiB of ");
  EXPECT_LT(first, second) << text;
  EXPECT_LT(second, end) << text;
  EXPECT_NE(text.find("1020 MiB (99.6 %) is cached by vramscope: free memory"), text.npos) << text;
  EXPECT_EQ(rows_with(text, "cached"), 1U) << "as a row it seems to be held by somebody";
}

TEST(Owners, OfAReportThatDoesNotTellThePeakShowWhatEachHeldMost) {
  Report report = sample_report();
  report.axes.clear();

  const std::string text = owners_text(report, {.width = 120}, {0, ""});

  EXPECT_NE(text.find("  OWN PEAK       NOW  CALLS  MEMORY  OWNER\n"
                      "   760 MiB  4.00 MiB  1,000  GPU 0   program\n"),
            text.npos)
      << text;
  EXPECT_TRUE(
      nlohmann::json::parse(owners_json(report, {0, ""}))["ledger"][0]["at_peak_bytes"].is_null());
}

// Site 0 is of make_weights, 1 of a library without names, 2 of main and pinned.
TEST(Groups, AreSumsOfAllSites) {
  Report report = sample_report();
  report.sites.push_back(report.sites[0]);  // once more, from elsewhere in make_weights
  report.sites.back().parts[0].totals.peak_bytes = 1 << 20;

  const auto rows = [&](GroupBy by, std::size_t most = 0) {
    return json::parse(groups_json(report, by, SiteOrder::peak, sample_names(), {most, ""}));
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

  const std::string text =
      groups_text(report, GroupBy::library, SiteOrder::peak, sample_names(), Page{}, {1, ""});

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
      groups_text(report, GroupBy::line, SiteOrder::peak, names, Page{}, {0, ""});

  EXPECT_NE(text.find("  /src/train.cpp:42\n"), text.npos) << text;
  EXPECT_NE(text.find("  /other/train.cpp:42\n"), text.npos) << text;
}

// What all call is no place: nothing could be told apart by it.
TEST(Groups, BeginBehindWrappers) {
  const std::string text = groups_text(golden_report(), GroupBy::function, SiteOrder::peak,
                                       golden_names(), Page{}, {0, ""});

  EXPECT_NE(text.find("  load_epoch (loader.cpp)\n"), text.npos) << text;
  EXPECT_EQ(text.find("thrust::"), text.npos) << text;
}

constexpr std::uint32_t kNone = 0xffffffff;

// A program whose threads all are called python3: the main one, one of Python, one of C++, one
// whose stack was cut off, and one that named itself.
Report with_threads_of_one_name() {
  Report report;
  report.process.pid = 100;
  report.process.executable = "/usr/bin/python3.11";
  report.modules.resize(2);
  report.modules[0].path = "/lib/libc.so.6";
  report.modules[1].path = "/app/libload.so";
  report.sources = {{.path = "/usr/lib/python3.11/threading.py"}, {.path = "/app/train.py"}};
  report.codes = {{.name = "Thread._bootstrap", .source = 0, .first_line = 995},
                  {.name = "load_batches", .source = 1, .first_line = 20},
                  {.name = "allocate", .source = 1, .first_line = 9}};
  report.frames = {{.module = kNone, .offset = 0, .code = 2, .line = 12},
                   {.module = kNone, .offset = 0, .code = 1, .line = 23},
                   {.module = kNone, .offset = 0, .code = 0, .line = 1002},
                   {.module = 0, .offset = 0x10, .code = kNone},
                   {.module = 1, .offset = 0x20, .code = kNone},
                   {.module = 1, .offset = 0x30, .code = kNone}};
  report.threads = {{.thread = "python3 100", .frames = {0}},
                    {.thread = "python3 101", .frames = {0, 1, 2, 3}},
                    {.thread = "python3 102", .frames = {4, 5, 3}},
                    {.thread = "python3 103", .frames = {0, 1}},
                    {.thread = "writer 104", .frames = {0, 1, 2, 3}}};
  return report;
}

// Of native frames: that at 0x20 is fill(), called by the std::thread that at 0x30 began with.
std::vector<SourceFrame> native_names(const Report&, const FrameFact& frame) {
  if (frame.offset == 0x20) return {{.function = "fill(int)", .file = "/src/load.cpp", .line = 7}};
  return {{.function = "std::thread::_State_impl<std::tuple<void (*)(int), int> >::_M_run()",
           .file = "/usr/include/c++/12/bits/std_thread.h",
           .line = 210}};
}

TEST(Threads, WithoutANameAreToldByTheFunctionInWhichTheyBegan) {
  const Report report = with_threads_of_one_name();
  const NameFrame name = native_names;
  const ThreadNames threads(report, name);
  const Page page;

  EXPECT_EQ(text_of_thread(threads, "python3 100", page), "python3 100 - main thread");
  EXPECT_EQ(text_of_thread(threads, "python3 101", page),
            "python3 101 - load_batches (train.py:20)");
  EXPECT_EQ(text_of_thread(threads, "python3 102", page), "python3 102 - fill (load.cpp)");
  EXPECT_EQ(text_of_thread(threads, "python3 103", page), "python3 103")
      << "its outermost frame is unknown";
  EXPECT_EQ(text_of_thread(threads, "writer 104", page), "writer 104")
      << "it has a name of its own";
  EXPECT_EQ(threads.began("writer 104"), "load_batches (train.py:20)");
  EXPECT_EQ(threads.title({.id = 101, .name = "python3"}), "python3 - load_batches (train.py:20)");
  EXPECT_EQ(threads.title({.id = 104, .name = "writer"}), "writer");
  EXPECT_EQ(threads.title({.id = 0, .name = ""}), "") << "of no thread";
}

TEST(Threads, OfAMergedReportTheMainOnesAreToldByTheRank) {
  Report report = with_threads_of_one_name();
  report.processes.resize(2);
  report.processes[0].process.pid = 100;
  report.processes[0].process.rank = 3;
  report.processes[1].process.pid = 101;  // no rank is known
  const NameFrame name = native_names;
  const ThreadNames threads(report, name);

  EXPECT_EQ(threads.began("python3 100"), "main thread of rank 3");
  EXPECT_EQ(threads.began("python3 101"), "main thread");
  EXPECT_EQ(threads.began("python3 102"), "fill (load.cpp)");
}

TEST(Threads, OfTwoProcessesWithOneNameAndNumberAreNotTold) {
  Report report = with_threads_of_one_name();
  report.threads.push_back({.thread = "python3 101", .frames = {4, 5, 3}});
  const NameFrame name = native_names;

  EXPECT_EQ(ThreadNames(report, name).began("python3 101"), "");
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

  const std::string text = all_sites_text(report, SiteOrder::growth, sample_names(), Page{}, 1);

  EXPECT_NE(text.find("4/4  main (train.cpp:99)\n  All by cudaMallocHost.\n"), std::string::npos)
      << text;
}

TEST(Histograms, ShowSizesAndLifeTimesOfEachSite) {
  Report report = sample_report();
  report.sites[0].sizes = {0, 0, 0, 6, 0, 3};
  report.sites[0].lifetimes = {0, 9};

  const std::string text =
      histograms_text(report, SiteOrder::peak, sample_names(), Page{.width = 80}, 1);

  EXPECT_EQ(text,
            "  make_weights (train.cpp:42) < main (train.cpp:99)\n"
            "    sizes   from 4 B        [################################]  6\n"
            "            from 16 B       [################................]  3\n"
            "    lives   < 10 us         [################################]  9\n");
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
      histograms_text(report, SiteOrder::peak, sample_names(), Page{.cuts = false}, 1);

  std::string eight = "  make_weights (train.cpp:42) < main (train.cpp:99)";
  for (int i = 1; i < 7; ++i) eight += " < train+0x9" + std::to_string(i);
  EXPECT_TRUE(text.starts_with(eight + " < ..\n")) << text;
}

TEST(Functions, AreListedWithPathAndEffect) {
  const json read = json::parse(functions_json(0));

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
  const std::string text = functions_text(Page{}, 2);

  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3);
  EXPECT_EQ(json::parse(functions_json(2)).size(), 2u);
}

}  // namespace
}  // namespace vramscope
