// What is told of memory that ran out.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "reporter/view/text/oom_text.h"
#include "test/view/sample_report.h"

namespace vramscope {
namespace {

constexpr Page kPage{.width = 100};

Report refused() {
  Report report = sample_report();
  report.oom = sample_refusals();
  report.sites[2].refused_count = 1;
  report.sites[2].refused_bytes = 64 << 20;
  report.sites[2].totals = {};
  return report;
}

std::string text_of(const Report& report) {
  return oom_text(report, leaks_for_oom(report, sample_names()), sample_names(), kPage, 10);
}

bool has(const std::string& text, const char* part) { return text.find(part) != text.npos; }

TEST(Oom, TellsWhoAskedWhatWasLiveAndWhatStoodInTheWay) {
  EXPECT_EQ(text_of(refused()),
            R"(GPU 0: 300 MiB refused, the 1st of 2
  after 5.00 s in cuMemAlloc_v2 by thread train 4711 in epoch/forward
  by libnet.so+0x40 < main (train.cpp:99)
     BYTES   SHARE  THE DEVICE THEN
   300 MiB  29.3 %  in 90 blocks (requested 290 MiB)
   500 MiB  48.8 %  free in pieces beside blocks in use, the largest of 17.0 MiB
  60.0 MiB   5.9 %  contexts of this process
  40.0 MiB   3.9 %  others: processes, contexts and what nobody recorded
   124 MiB  12.1 %  free, says the driver: the most that it could have served
  200 MiB of it in 45 blocks of 1 place were freed later
  without a cache up to 612 MiB would have been free, in how many pieces nobody knows (an estimate)
  owners: program 290 MiB
  REQUESTED  COUNT  MEMORY  LIVE THEN
    200 MiB     45  GPU 0   make_weights (train.cpp:42) < main (train.cpp:99)
     FREE   LARGEST  SEGMENTS  BLOCKS   IN USE  HELD BY
  500 MiB  17.0 MiB        30      33  100 MiB  make_weights (train.cpp:42) < main (train.cpp:99)
  BLOCKS and IN USE count all blocks of these segments, those of other places, too, rounded up
  hint: without the cache it would probably have fit: --mode observe tells

pinned: 64.0 MiB refused, the 2nd of 2
  after 6.00 s by thread train 4711
  by main (train.cpp:99)
  not looked at closer: memory ran out too often
  hint: pinned memory is memory of the host: see free -h and ulimit -l

  ASKED EACH  COUNT  NEVER SERVED ANYTHING
    64.0 MiB      1  main (train.cpp:99)
)");
}

TEST(Oom, SaysThatMemoryNeverRanOut) {
  EXPECT_EQ(text_of(sample_report()), "Memory never ran out.\n");
  EXPECT_EQ(oom_line(sample_report(), sample_names()), "");
}

TEST(Oom, ListsCallStacksThatNeverGotAnything) {
  EXPECT_TRUE(has(text_of(refused()), "NEVER SERVED ANYTHING\n"));
  Report report = refused();
  report.sites[2].totals.total_count = 1;
  EXPECT_FALSE(has(text_of(report), "NEVER SERVED"));
}

TEST(Oom, HintsAtWhatWouldHelp) {
  Report report = refused();
  OomEvent& event = report.oom.events[0];
  EXPECT_TRUE(has(text_of(report), "hint: without the cache it would probably have fit: --mode"));

  report.process.options = {{"policy", "pytorch"}};
  EXPECT_TRUE(has(text_of(report), "of --policy pytorch it would probably have fit: native-safe"));
  event.native_free_bytes = 1;
  EXPECT_TRUE(has(text_of(report),
                  "  hint: fragmentation: with the 500 MiB free in pieces the GPU would have had "
                  "enough;\n    HELD BY names what pins them; without the cache it would be in "
                  "pieces, too\n"))
      << text_of(report);

  report.process.options.clear();
  event.split_free_bytes = 0;
  EXPECT_TRUE(has(text_of(report), "hint: the program itself holds most of it"));
  EXPECT_TRUE(has(hint_for(report, event, {}), "; 176 MiB more, free, would have been enough"));
  event.outside_bytes = 900 << 20;
  EXPECT_TRUE(has(text_of(report), "hint: most of it is held by others"));
  EXPECT_FALSE(has(hint_for(report, event, {}), "pools"));
  event.bytes = std::uint64_t{2} << 30;
  EXPECT_TRUE(has(text_of(report), "hint: it asks for more than the whole GPU has (1.00 GiB)\n"))
      << text_of(report);
  event.bytes = 300 << 20;
  event.by_limit = true;  // of a report that does not tell which
  EXPECT_TRUE(has(text_of(report), "hint: the limit of --device-memory-limit refused it"));
}

// It once did: what is free in pieces of its segments counted as if the driver had it in one.
TEST(Oom, BlamesNotTheDefaultPolicyForWhatTheDriverWouldRefuseToo) {
  Report report = refused();
  report.process.mode = "cache";
  report.process.options = {{"policy", "native-safe"}};
  EXPECT_FALSE(has(text_of(report), "without a cache up to"));
  EXPECT_FALSE(has(text_of(report), "probably have fit"));
  EXPECT_TRUE(has(text_of(report), "hint: fragmentation: with the 500 MiB free in pieces"));

  report.oom.events[0].pending_bytes = 200 << 20;  // which the driver would have waited for
  EXPECT_TRUE(has(text_of(report), "hint: without the cache it would probably have fit"));
}

TEST(Oom, TellsContextsOfThisProcessFromOthers) {
  Report report = refused();
  OomEvent& event = report.oom.events[0];
  event.native_free_bytes = event.split_free_bytes = 0;
  event.outside_bytes = event.context_bytes = 400 << 20;
  event.module_bytes = 0;
  EXPECT_TRUE(has(text_of(report),
                  "hint: contexts of this process hold most of it: 400 MiB, as vramscope owners"))
      << text_of(report);
  event.outside_bytes = 900 << 20;
  EXPECT_TRUE(has(text_of(report), "hint: most of it is held by others"));
}

TEST(Oom, TellsWhatPoolsOfThisProcessKeepFromOthers) {
  Report report = refused();
  OomEvent& event = report.oom.events[0];  // lacks 176 MiB
  event.native_free_bytes = event.split_free_bytes = 0;
  event.context_bytes = event.module_bytes = 0;
  event.outside_bytes = 400 << 20;
  event.pool_bytes = event.pool_pending_bytes = 300 << 20;
  EXPECT_TRUE(has(text_of(report), " freed, and kept by the driver's pools: its streams had not"))
      << text_of(report);
  EXPECT_TRUE(has(text_of(report), "100 MiB   9.8 %  others: processes"));
  EXPECT_EQ(hint_for(report, event, {}),
            "the driver's pools kept 300 MiB, freed by cudaFreeAsync: synchronize its streams "
            "before, and there is enough");
  event.pool_pending_bytes = 100 << 20;
  EXPECT_TRUE(has(text_of(report), "pools; of 100 MiB the streams had not"));
  EXPECT_TRUE(
      has(hint_for(report, event, {}), "synchronize its streams and trim them before (cuda"));
  event.pool_pending_bytes = 0;
  EXPECT_TRUE(
      has(hint_for(report, event, {}), ": trim them before (cudaMemPoolTrimTo), and there"));
  event.shares.push_back({.kind = Kind::stream_ordered, .live_bytes = 1 << 20, .live_count = 1});
  EXPECT_TRUE(has(hint_for(report, event, {}), "enough, unless blocks in use share its pages"));

  event.pool_bytes = 100 << 20;  // too little
  EXPECT_TRUE(has(hint_for(report, event, {}), "; the driver's pools kept 100 MiB, freed by"));
  EXPECT_FALSE(has(hint_for(report, event, {}), "there is enough"));
}

// What site 0 held is 45 blocks of 200 MiB that came all along; the event is the only one.
Report leaked() {
  Report report = refused();
  report.trigger = "exit";
  report.oom.events.pop_back();
  report.oom.events[0].reserved_bytes = 300 << 20;
  report.oom.events[0].split_free_bytes = 0;
  Site& site = report.sites[0];
  site.totals.live_bytes = site.totals.total_bytes = 200 << 20;
  site.totals.live_count = site.totals.total_count = 45;
  site.parts[0].totals = site.totals;
  site.live_by_age.assign(10, 20 << 20);
  return report;
}

TEST(Oom, SaysThatMostOfWhatWasHeldIsALeak) {
  Report report = leaked();
  EXPECT_TRUE(
      has(text_of(report), "  200 MiB of it in 45 blocks of 1 place were never freed: a leak\n"));
  EXPECT_EQ(hint_for(report, report.oom.events[0], leaks_for_oom(report, sample_names())),
            "most of it was never freed, and grew to the end: vramscope leaks names the places");

  report.trigger = "oom";
  EXPECT_TRUE(has(text_of(report), "none of these was freed until then: a leak, unless"));
  EXPECT_TRUE(has(text_of(report), "hint: most of it was not freed until then, and grew"));
}

// It once blamed 300 MiB of tables on the host.
TEST(Oom, CallsNoLeakWhatLiesOnTheHost) {
  Report report = leaked();
  report.sites[0].parts[0].kind = Kind::managed;
  OomEvent& event = report.oom.events[0];
  event.shares[0].kind = Kind::managed;
  event.direct_bytes = 0;
  EXPECT_FALSE(has(text_of(report), "leak")) << text_of(report);
  event.direct_bytes = 190 << 20;
  event.reserved_bytes = event.requested_bytes = 100 << 20;
  EXPECT_TRUE(has(text_of(report), "  190 MiB of it in 45 blocks of 1 place were never freed"));
}

TEST(Oom, CallsNoLeakMostOfItWhereThePoolsOfTheDriverHadMore) {
  Report report = leaked();
  OomEvent& event = report.oom.events[0];
  event.split_free_bytes = event.native_free_bytes = 0;
  event.outside_bytes = event.pool_bytes = 600 << 20;
  EXPECT_FALSE(has(text_of(report), "leak")) << text_of(report);
}

// Enough for what was refused, beside a model that was there from the beginning.
TEST(Oom, NamesALeakThatIsNotMostOfIt) {
  Report report = leaked();
  report.process.options = {{"policy", "pytorch"}};
  OomEvent& event = report.oom.events[0];
  event.bytes = 6 << 20;
  event.free_bytes = 0;
  event.requested_bytes = event.allocated_bytes = event.reserved_bytes = 500 << 20;
  EXPECT_TRUE(
      has(text_of(report), "  200 MiB of it in 45 blocks of 1 place were never freed: a leak\n"));
  EXPECT_TRUE(has(text_of(report), "hint: 200 MiB of it was never freed, and grew to the end"));

  event.bytes = 201 << 20;  // more than that
  EXPECT_FALSE(has(text_of(report), "a leak"));
}

TEST(Oom, CallsNoLeakWhatIsLessThanHalfOfItOrWasFreed) {
  Report report = leaked();
  report.oom.events[0].reserved_bytes = 700 << 20;
  EXPECT_FALSE(has(text_of(report), "leak"));

  report = leaked();
  report.sites[0].totals.live_bytes = report.sites[0].totals.live_count = 0;
  report.sites[0].parts[0].totals = report.sites[0].totals;
  EXPECT_FALSE(has(text_of(report), "leak"));

  report = leaked();  // one busy moment
  report.sites[0].live_by_age = {200 << 20, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  report.oom.events[0].site = 1;
  EXPECT_FALSE(has(text_of(report), "leak"));
}

TEST(Oom, NamesThePlaceThatFreedNothingAndAskedForMore) {
  Report report = leaked();
  report.sites[0].live_by_age = {200 << 20, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  report.oom.events[0].site = 0;
  EXPECT_TRUE(has(text_of(report), "200 MiB of it in 45 blocks of 1 place were held, and none"));

  report.sites[0].totals.total_count = 46;  // one was freed
  EXPECT_FALSE(has(text_of(report), "leak"));
}

TEST(Oom, TellsOfRoundingWhereItMatters) {
  Report report = refused();
  OomEvent& event = report.oom.events[0];
  event.rounding_bytes = 5 << 20;
  EXPECT_FALSE(has(text_of(report), "rounding"));

  event.rounding_bytes = 27 << 20;
  event.allocated_bytes = 400 << 20;
  EXPECT_TRUE(
      has(text_of(report),
          "  27.0 MiB   2.6 %  rounding: the driver gives whole pages of 2 MiB, which small "
          "allocations share\n"));
  EXPECT_TRUE(has(text_of(report), "in 90 blocks (requested 290 MiB, 110 MiB more by rounding)"));
}

TEST(Oom, EstimatesNothingWhereTheDriverRefusedWhatItHadFree) {
  Report report = refused();
  EXPECT_TRUE(has(text_of(report), "without a cache up to 612 MiB would have been free"));
  report.oom.events[0].free_bytes = report.oom.events[0].bytes;
  EXPECT_FALSE(has(text_of(report), "without a cache"));

  report = refused();
  report.oom.events[0].native_free_bytes = report.oom.events[0].free_bytes;
  EXPECT_FALSE(has(text_of(report), "without a cache"));
}

TEST(Oom, BlamesNoCacheAndNoOthersWhereTheDriverServesAll) {
  Report report = refused();
  report.process.mode = "observe";
  OomEvent& event = report.oom.events[0];
  event.direct_bytes = 800 << 20;
  event.split_free_bytes = 0;
  EXPECT_TRUE(has(text_of(report), "in allocations of the program, served by the driver\n"));
  EXPECT_FALSE(has(text_of(report), "without a cache"));
  EXPECT_TRUE(has(text_of(report), "hint: the program itself holds most of it"));
  event.free_bytes = event.bytes;
  event.outside_bytes = 2000 << 20;
  EXPECT_TRUE(has(text_of(report), "hint: the driver had as much free, and refused it"));
}

TEST(Oom, TellsOfTheLimitFirstWhereThatRefused) {
  Report report = refused();
  report.oom.events.pop_back();
  OomEvent& event = report.oom.events.back();
  event.by_limit = true;
  event.free_bytes = std::uint64_t{15} << 30;
  event.reserved_bytes = 800 << 20;
  event.direct_bytes = 24 << 20;
  report.process.options = {{"device_memory_limit", "1GiB"}};

  const std::string text = text_of(report);

  EXPECT_TRUE(has(text, "THE LIMIT OF 1.00 GiB THEN\n   140 MiB  13.7 %  free under the limit\n"))
      << text;
  EXPECT_TRUE(has(text, "the GPU itself has 15.0 GiB free, which the limit withholds\n"));
  const Page narrow{.width = 60};
  EXPECT_TRUE(
      has(oom_text(report, leaks_for_oom(report, sample_names()), sample_names(), narrow, 10),
          "the GPU itself has 15.0 GiB free,\n    which the limit withholds\n"));
  EXPECT_FALSE(has(text, "says the driver"));
  EXPECT_TRUE(has(text, "60.0 MiB   5.9 %  contexts of this process\n"));
  EXPECT_TRUE(has(oom_line(report, sample_names()), ", 140 MiB free under the limit"));
}

TEST(Oom, SaysThatFragmentationUsedUpALimit) {
  Report report = refused();
  report.oom.events.resize(1);
  OomEvent& event = report.oom.events.front();  // of 300 MiB, 500 MiB free in pieces
  event.by_limit = true;
  event.reserved_bytes = 800 << 20;
  event.direct_bytes = 24 << 20;
  report.process.options = {{"device_memory_limit", "1GiB"}};
  EXPECT_EQ(stranded_then(report, event), 500U << 20);
  EXPECT_TRUE(has(text_of(report),
                  "  hint: fragmentation: with the 500 MiB free in pieces the limit would have had "
                  "enough;\n    HELD BY names what pins them\n"))
      << text_of(report);

  event.bytes = 750 << 20;  // more than both together
  EXPECT_EQ(stranded_then(report, event), 0U);
  EXPECT_TRUE(has(text_of(report), "hint: the limit of --device-memory-limit refused it"));
}

// It once said that they would have had enough with a hole that serves larger requests only.
TEST(Oom, NamesHolesThatThePolicyKeepsFromSmallRequests) {
  Report report = refused();
  report.oom.events.resize(1);
  report.process.mode = "cache";
  report.process.options = {{"device_memory_limit", "64MiB"}, {"policy", "pytorch"}};
  OomEvent& event = report.oom.events.front();
  event.by_limit = true;
  event.bytes = 256 << 10;
  event.reserved_bytes = 64 << 20;
  event.direct_bytes = event.rounding_bytes = 0;
  event.split_free_bytes = event.largest_free_bytes = 18 << 20;
  event.native_free_bytes = event.free_bytes + (1 << 20);
  EXPECT_EQ(stranded_then(report, event), 0U);
  const std::string kept =
      "fragmentation: 18.0 MiB were free, but in segments for requests above 1.00 MiB, from which "
      "--policy pytorch serves no smaller one; ";
  EXPECT_EQ(
      hint_for(report, event, {}),
      kept + "--policy pytorch keeps what is freed: native-safe, the default, can serve more");
  event.native_free_bytes = event.free_bytes + (10 << 20);
  EXPECT_EQ(hint_for(report, event, {}),
            kept + "--policy native-safe, the default, would have served it");

  event.largest_free_bytes = 200 << 10;  // holes of its own pool
  EXPECT_TRUE(hint_for(report, event, {}).starts_with("fragmentation: with the 18.0 MiB free"));
}

// 22 x (9 MiB + 1.5 MiB) under a limit of 256 MiB, in 12 segments of 20 MiB.
Report without_exact_fallback() {
  Report report = leaked();
  report.process.mode = "cache";
  report.process.options = {
      {"device_memory_limit", "256MiB"}, {"policy", "pytorch"}, {"exact_fallback", "off"}};
  OomEvent& event = report.oom.events.front();
  event.by_limit = true;
  event.bytes = 9 << 20;
  event.reserved_bytes = 240 << 20;
  event.requested_bytes = event.allocated_bytes = 231 << 20;
  event.direct_bytes = event.rounding_bytes = event.context_bytes = 0;
  event.split_free_bytes = event.largest_free_bytes = 3 << 20;
  event.native_free_bytes = event.free_bytes - (24 << 20);
  return report;
}

// It once promised that native-safe would serve it, which takes 24 MiB more for the same blocks,
// and called what the program held a leak.
TEST(Oom, BlamesTheSegmentOfThePolicyWhereOneOfTheRequestsSizeWasForbidden) {
  Report report = without_exact_fallback();
  OomEvent& event = report.oom.events.front();
  EXPECT_FALSE(native_safe_serves(report, event));
  EXPECT_FALSE(has(text_of(report), "leak")) << text_of(report);
  EXPECT_EQ(hint_for(report, event, leaks_for_oom(report, sample_names())),
            "--policy pytorch asks for a segment of 20.0 MiB, and 16.0 MiB were free under the "
            "limit: --exact-fallback on would have asked for 10.0 MiB then");

  report.process.options.back().second = "on";  // then that was asked for, too
  EXPECT_FALSE(has(hint_for(report, event, {}), "a segment of"));
  EXPECT_FALSE(has(hint_for(report, event, {}), "native-safe"));
}

TEST(Oom, PromisesNativeSafeOnlyWhereWholePagesFit) {
  Report report = without_exact_fallback();
  OomEvent& event = report.oom.events.front();
  event.native_free_bytes = event.free_bytes - (6 << 20);
  EXPECT_TRUE(native_safe_serves(report, event));
  event.native_free_bytes -= 1;  // 9 MiB would fit, not the 10 MiB that they take
  EXPECT_FALSE(native_safe_serves(report, event));
}

// The report of the refusal takes it for a leak.
TEST(Oom, SaysWhatWasFreedAfterwards) {
  Report report = refused();
  report.trigger = "exit";
  report.sites[0].totals.live_bytes = report.sites[0].totals.live_count = 0;
  const char* const line = "  200 MiB of it in 45 blocks of 1 place were freed later\n";
  EXPECT_TRUE(has(text_of(report), line)) << text_of(report);
  report.trigger = "oom";
  EXPECT_FALSE(has(text_of(report), line));
  report.trigger = "exit";
  report.sites[0].totals.live_count = 1;
  EXPECT_FALSE(has(text_of(report), "freed later"));
}

TEST(Oom, NamesTheLimitThatWouldHaveBeenEnough) {
  Report report = refused();
  report.oom.events.resize(1);
  OomEvent& event = report.oom.events.front();
  event.by_limit = true;
  event.split_free_bytes = 0;
  event.idle_bytes = 0;
  event.reserved_bytes = 800 << 20;
  report.process.options = {{"device_memory_limit", "1GiB"}};
  EXPECT_TRUE(has(text_of(report), "a limit of 1,160 MiB would have been enough"))
      << text_of(report);
  report.process.options.emplace_back("policy", "pytorch");
  EXPECT_TRUE(has(text_of(report), "a limit of at least 1,160 MiB would")) << text_of(report);

  event.bytes = std::uint64_t{2} << 30;
  EXPECT_TRUE(has(text_of(report), "hint: it asks for more than the whole limit of"));
  event.reserved_bytes = 0;
  event.idle_bytes = event.bytes;  // since it was refused
  EXPECT_FALSE(has(text_of(report), "would have been enough")) << text_of(report);
}

// As in a storm: the first and the 16th were looked at, the 31st was only counted.
Report storm() {
  Report report = refused();
  report.process.options = {{"device_memory_limit", "1GiB"}};
  OomEvent first = report.oom.events.front();
  first.by_limit = true;
  first.context_bytes = 0;
  OomEvent sixteenth = first;
  sixteenth.number = 16;
  sixteenth.reserved_bytes = 984 << 20;
  const OomEvent last = {.number = 31,
                         .time_ns = 9'000'000'000,
                         .bytes = 300 << 20,
                         .site = 1,
                         .by_limit = true,
                         .total_bytes = std::uint64_t{16} << 30,
                         .free_bytes = std::uint64_t{15} << 30};
  report.oom = {.count = 31, .events = {first, sixteenth, last}};
  return report;
}

TEST(Oom, GivesFiguresOfTheLastThatWasLookedAtForOneThatWasOnlyCounted) {
  const std::string text = text_of(storm());

  EXPECT_TRUE(has(text, "the 31st of 31\n")) << text;
  EXPECT_TRUE(has(text, "ran out too often; the last that was is the 16th, after 5.00 s\n"))
      << text;
  EXPECT_TRUE(has(text, "THE LIMIT OF 1.00 GiB AT THE 16th\n  40.0 MiB   3.9 %  free under"))
      << text;
  EXPECT_TRUE(has(text, "hint, as of the 16th: fragmentation")) << text;
  EXPECT_FALSE(has(text, "100 %")) << text;
  EXPECT_TRUE(has(oom_line(storm(), sample_names()), ", by the limit of 1.00 GiB"));
}

// It once said how much the 16th lacked, 176 MiB here, below a request of another size.
TEST(Oom, SaysHowMuchTheRequestLackedThatWasOnlyCounted) {
  Report report = storm();
  report.process.options.clear();
  for (OomEvent& event : report.oom.events) {
    event.by_limit = false;
    event.split_free_bytes = event.native_free_bytes = 0;
  }
  OomEvent& last = report.oom.events.back();
  last.bytes = 200 << 20;
  last.total_bytes = std::uint64_t{1} << 30;
  last.free_bytes = 100 << 20;

  const std::string text = oom_text(report, {}, sample_names(), {.width = 200}, 10);

  EXPECT_TRUE(has(text, "hint, as of the 16th: the program itself holds most of it")) << text;
  EXPECT_TRUE(has(text, "; 100 MiB more, free, would")) << text;
}

TEST(Oom, RefersToTheFirstWhereNoOtherWasLookedAt) {
  Report report = storm();
  report.oom.events.erase(report.oom.events.begin() + 1);

  const std::string text = text_of(report);

  EXPECT_TRUE(has(text, "memory ran out too often; the 1st was\n")) << text;
  EXPECT_FALSE(has(text, " AT THE ")) << text;
  EXPECT_FALSE(has(text, "100 %")) << text;
}

// Of one refusal, by a limit of 1 GiB.
Report refused_by_limit(std::uint64_t bytes, std::uint64_t reserved_bytes) {
  Report report = refused();
  report.oom.events.resize(1);
  OomEvent& event = report.oom.events.front();
  event.by_limit = true;
  event.bytes = bytes;
  event.reserved_bytes = reserved_bytes;
  report.process.options = {{"device_memory_limit", "1GiB"}};
  return report;
}

TEST(Oom, CallsFragmentationWhatTheMapDoes) {
  Report report = refused_by_limit(1 << 20, std::uint64_t{1} << 30);
  OomEvent& event = report.oom.events.front();
  event.split_free_bytes = 2 << 20;
  EXPECT_EQ(stranded_then(report, event), 0U);
  EXPECT_TRUE(has(hint_for(report, event, {}),
                  "refused it, not the GPU; 300 MiB were live: 200 MiB of 1 place that freed "
                  "nothing; a limit of"));

  event.split_free_bytes = 103 << 20;
  EXPECT_EQ(stranded_then(report, event), 103U << 20);
}

// Weights that were allocated once, and buffers that come and go, are no leak.
TEST(Oom, TellsWhatWasHeldForGoodFromWhatIsTemporary) {
  Report report = refused();
  report.oom.events.resize(1);
  OomEvent& event = report.oom.events[0];
  event.native_free_bytes = 1;
  event.split_free_bytes = 0;
  Site& site = report.sites[static_cast<std::size_t>(event.shares.at(0).site)];
  const std::uint64_t live = event.shares[0].live_count;
  const auto hint = [&](std::uint64_t made) {
    site.totals.total_count = made;
    return hint_for(report, event, {});
  };
  EXPECT_TRUE(has(hint(live), ": 200 MiB of 1 place that freed nothing; see what was live"));
  EXPECT_TRUE(has(hint(live + 1), "most of it: see what was live")) << "it may be the end";
  EXPECT_TRUE(has(hint(3 * live),
                  ": 200 MiB temporary (1 place, where what is allocated is freed), "
                  "which overlapped: freed before, it would have been enough; see"))
      << hint(3 * live);
  event.bytes = 400 << 20;
  EXPECT_FALSE(has(hint(3 * live), "overlapped")) << "it would not have been enough";
}

// 2 MiB were refused where "12.0 MiB free under the limit" was said: others freed them meanwhile.
TEST(Oom, FiguresOfARefusalByTheLimitAreOfItsInstant) {
  Report report = refused_by_limit(2 << 20, 1012 << 20);
  OomEvent& event = report.oom.events.front();
  event.direct_bytes = event.rounding_bytes = event.context_bytes = event.module_bytes = 0;
  EXPECT_EQ(free_under_limit(std::uint64_t{1} << 30, event), 12U << 20);

  event.counted_bytes = 1023 << 20;
  EXPECT_EQ(free_under_limit(std::uint64_t{1} << 30, event), 1U << 20);
  const std::string text = text_of(report);
  EXPECT_TRUE(has(text, "1.00 MiB  <0.1 %  free under the limit")) << text;
  EXPECT_TRUE(has(text, "gone when this was looked at, a moment later")) << text;

  event.reserved_bytes = 1024 << 20;
  EXPECT_TRUE(has(text_of(report), "1.00 MiB more were held than when it was refused"));
}

TEST(Oom, NamesRoundingInTheHintWhereItTookATenth) {
  Report report = refused();
  report.oom.events.resize(1);
  OomEvent& event = report.oom.events.front();
  event.by_limit = true;
  event.allocated_bytes = 390 << 20;
  const char* const clause = "; rounding took 100 MiB of what was held";
  EXPECT_TRUE(has(hint_for(report, event, {}), clause));
  event.requested_bytes = 320 << 20;
  EXPECT_FALSE(has(hint_for(report, event, {}), "rounding took"));

  report = leaked();
  OomEvent& leaking = report.oom.events[0];
  leaking.rounding_bytes = 40 << 20;
  EXPECT_TRUE(has(hint_for(report, leaking, leaks_for_oom(report, sample_names())),
                  "leaks names the places; rounding took 50.0 MiB of what was held"));
}

TEST(Oom, NamesThePolicyThatWithholdsWhatIsFreed) {
  Report report = refused();
  report.oom.events.resize(1);
  OomEvent& event = report.oom.events.front();
  event.by_limit = true;
  const char* const clause = "--policy pytorch keeps what is freed: native-safe, the default, can";
  EXPECT_FALSE(has(text_of(report), clause));

  report.process.options = {{"policy", "pytorch"}};
  EXPECT_TRUE(has(hint_for(report, event, {}), clause));
  event.native_free_bytes = event.free_bytes;  // it withheld nothing
  EXPECT_FALSE(has(hint_for(report, event, {}), clause));
}

TEST(Oom, ShowsTheFirstAndTheLastInFullAndOthersAsRows) {
  Report report = refused();
  OomEvent between = report.oom.events[0];
  between.number = 2;
  between.bytes = 7 << 20;
  report.oom.events.insert(report.oom.events.begin() + 1, between);
  report.oom.count = 13;

  const std::string text = text_of(report);

  EXPECT_TRUE(has(text, "REFUSED TOO\n  7.00 MiB      1  5.00 s  -       GPU 0   libnet.so+0x40"))
      << text;
  EXPECT_TRUE(has(text, "  of 10 further refusals only the number is known\n")) << text;
  EXPECT_TRUE(has(text, "the 1st of 13\n"));
  EXPECT_TRUE(has(text, "pinned: 64.0 MiB refused, the 2nd of 13\n"));
}

// A loop of retries was 15 rows that read alike.
TEST(Oom, FoldsRefusalsOfOnePlaceAndMemoryIntoARow) {
  Report report = refused();
  OomEvent one = report.oom.events[0];
  for (const std::uint64_t mebibytes : {7, 9, 8}) {
    one.bytes = mebibytes << 20;
    one.time_ns += 1'000'000'000;
    report.oom.events.insert(report.oom.events.end() - 1, one);
  }
  one.kind = Kind::stream_ordered;
  report.oom.events.insert(report.oom.events.end() - 1, one);
  report.oom.count = report.oom.events.size();

  const std::string text = oom_text(report, {}, sample_names(), {.width = 200}, 10);

  EXPECT_TRUE(has(text, "  7.00 MiB to 9.00 MiB      3  6.00 s to 8.00 s  -       GPU 0 ")) << text;
  EXPECT_TRUE(
      has(text, "              8.00 MiB      1            8.00 s  -       GPU 0 stream_ordered"))
      << text;
  EXPECT_FALSE(has(text, "further refusal")) << text;
}

// Who freed and asked again on another line was listed as never served.
TEST(Oom, SaysWhoWasServedAsMuchLater) {
  Report report = refused();
  report.trigger = "exit";
  OomEvent& last = report.oom.events.back();
  last.is_watched = true;
  EXPECT_TRUE(has(text_of(report), "\n  as much was never served after that\n"));
  EXPECT_TRUE(has(text_of(report), "NEVER SERVED ANYTHING\n"));

  last.served_ns = 6'002'000'000;
  last.served_site = 0;
  const std::string text = text_of(report);
  EXPECT_TRUE(has(text, "\n  as much was served 2.00 ms later, to make_weights (train.cpp:42) < "))
      << text;
  EXPECT_FALSE(has(text, "NEVER SERVED")) << text;
  EXPECT_TRUE(has(oom_line(report, sample_names()), "; as much was served 2.00 ms later"));

  last.served_site = last.site;
  EXPECT_TRUE(has(text_of(report), "served 2.00 ms later, to the same\n"));

  report.trigger = "oom";  // written when it was refused: what came of it is not known yet
  last.served_ns = -1;
  EXPECT_FALSE(has(text_of(report), "as much was"));
}

// It once gave the sum of what was asked for again and again.
TEST(Oom, SaysWhatAPlaceThatWasNeverServedAskedForEachTime) {
  Report report = refused();
  report.sites[2].refused_count = 32;
  report.sites[2].refused_bytes = std::uint64_t{32} * (64 << 20);
  EXPECT_TRUE(
      has(text_of(report),
          "  ASKED EACH  COUNT  NEVER SERVED ANYTHING\n    64.0 MiB     32  main (train.cpp:99)\n"))
      << text_of(report);
}

// It once spoke of managed memory, which a limit does not count, and not of what it was.
TEST(Oom, TellsWhatCameFromTheDriverItself) {
  Report report = refused();
  report.oom.events.pop_back();
  OomEvent& event = report.oom.events.back();
  event.direct_bytes = 24 << 20;
  event.owners = {{.owner = "program", .kind = Kind::stream_ordered, .live_bytes = 24 << 20},
                  {.owner = "program", .kind = Kind::managed, .live_bytes = 40 << 20}};
  event.by_limit = true;
  EXPECT_TRUE(has(text_of(report), "from the driver itself: 24.0 MiB stream_ordered\n"))
      << text_of(report);
  EXPECT_TRUE(has(text_of(report), "program 40.0 MiB managed (the limit does not count it)"));

  event.direct_bytes = 30 << 20;  // by a limit: of what the report does not name
  EXPECT_TRUE(has(text_of(report), "itself: 24.0 MiB stream_ordered and others\n"));
  event.by_limit = false;
  EXPECT_TRUE(has(text_of(report), "itself: 6.00 MiB managed, 24.0 MiB stream_ordered\n"))
      << text_of(report);
  EXPECT_FALSE(has(text_of(report), "does not count"));
  event.direct_bytes = 80 << 20;  // more than both
  EXPECT_TRUE(has(text_of(report), "itself: 40.0 MiB managed, 24.0 MiB stream_ordered and others"))
      << text_of(report);
  event.direct_bytes = 1 << 20;
  EXPECT_TRUE(has(text_of(report), "itself: arrays, stream-ordered memory and the like\n"));
}

TEST(Oom, InFullShowsEveryFrameOfWhoAsked) {
  const Report report = refused();
  const Page page{.width = 100, .stacks = Stacks::in_full};
  const std::string text = oom_text(report, {}, sample_names(), page, 10);
  const std::size_t by = text.find("\n  by\n      ");
  ASSERT_NE(by, std::string::npos) << text;
  EXPECT_TRUE(has(text.substr(by, text.find("THE DEVICE") - by), "at /src/train.cpp:99 in"))
      << text;
}

TEST(Oom, JsonHasEveryNumber) {
  const auto read = nlohmann::json::parse(oom_json(refused(), sample_names(), 0));

  EXPECT_EQ(read["count"], 2);
  const auto& first = read["events"][0];
  EXPECT_EQ(first["bytes"], 300 << 20);
  EXPECT_EQ(first["native_free_bytes"], 612 << 20);
  EXPECT_EQ(first["shares"][0]["live_count"], 45);
  EXPECT_EQ(first["owners"][0]["owner"], "program");
  EXPECT_EQ(first["pins"][0]["segments"], 30);
  EXPECT_EQ(first["frames"][1], "main (train.cpp:99)");
  EXPECT_EQ(read["events"][1]["kind"], "pinned");
  EXPECT_EQ(read["events"][1]["has_details"], false);
}

TEST(Oom, OneLineTellsOfTheLast) {
  Report report = refused();
  report.oom.events.pop_back();
  EXPECT_EQ(oom_line(report, sample_names()),
            "300 MiB of GPU 0 refused to libnet.so+0x40 < main (train.cpp:99), 124 MiB free");
}

}  // namespace
}  // namespace vramscope
