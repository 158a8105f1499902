// What is told of memory that ran out.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "reporter/view/text/oom_text.h"
#include "test/view/made_refusals.h"

namespace vramscope {
namespace {

TEST(Oom, TellsWhoAskedWhatWasLiveAndWhatStoodInTheWay) {
  EXPECT_EQ(text_of(refused()),
            R"(GPU 0: 300 MiB refused, the 1st of 2
  after 5.00 s, in cuMemAlloc_v2, by thread train 4711, in epoch/forward
  by libnet.so+0x40 < main (train.cpp:99)
     BYTES   SHARE  THE DEVICE AT THE REFUSAL
   300 MiB  29.3 %  in 90 blocks (requested 290 MiB)
   500 MiB  48.8 %  free in pieces beside blocks in use, the largest piece 17.0 MiB
  60.0 MiB   5.9 %  contexts of this process
  40.0 MiB   3.9 %  others: other processes, unrecorded memory
   124 MiB  12.1 %  free according to the driver: the most that it could have served
  200 MiB of the live memory, in 45 blocks from 1 call site, was freed later
  without a cache up to 612 MiB would have been free (estimate); the number of pieces is not known
  owners: program 290 MiB
  REQUESTED  COUNT  MEMORY  LIVE AT THE REFUSAL
    200 MiB     45  GPU 0   make_weights (train.cpp:42) < main (train.cpp:99)
     FREE   LARGEST  SEGMENTS  BLOCKS   IN USE  HELD BY
  500 MiB  17.0 MiB        30      33  100 MiB  make_weights (train.cpp:42) < main (train.cpp:99)
  BLOCKS and IN USE count all blocks of these segments, also of other call sites, rounded up
  hint: without the cache the request would probably have fit: try --mode observe

pinned: 64.0 MiB refused, the 2nd of 2
  after 6.00 s, by thread train 4711
  by main (train.cpp:99)
  no details: memory ran out too often
  hint: pinned memory is host memory: see free -h and ulimit -l

  ASKED EACH  COUNT  WAS NEVER SERVED
    64.0 MiB      1  main (train.cpp:99)
)");
}

TEST(Oom, SaysThatMemoryNeverRanOut) {
  EXPECT_EQ(text_of(sample_report()), "Memory never ran out.\n");
  EXPECT_EQ(oom_line(sample_report(), sample_names()), "");
}

TEST(Oom, ListsCallStacksThatNeverGotAnything) {
  EXPECT_TRUE(has(text_of(refused()), "WAS NEVER SERVED\n"));
  Report report = refused();
  report.sites[2].totals.total_count = 1;
  EXPECT_FALSE(has(text_of(report), "NEVER SERVED"));
}

TEST(Oom, HintsAtWhatWouldHelp) {
  Report report = refused();
  OomEvent& event = report.oom.events[0];
  EXPECT_TRUE(
      has(text_of(report), "hint: without the cache the request would probably have fit: try"));

  report.process.options = {{"policy", "pytorch"}};
  EXPECT_TRUE(has(text_of(report),
                  "of --policy pytorch the request would probably have fit: try native-safe"));
  event.native_free_bytes = 1;
  EXPECT_TRUE(
      has(text_of(report),
          "  hint: fragmentation: the 500 MiB free in pieces would have been enough;\n    HELD BY "
          "lists the blocks that hold them; without the cache, memory would also be "
          "fragmented\n"))
      << text_of(report);

  report.process.options.clear();
  event.split_free_bytes = 0;
  EXPECT_TRUE(has(text_of(report), "hint: the program itself holds most of the memory"));
  EXPECT_TRUE(
      has(hint_for(report, event, {}), "; 176 MiB more free memory would have been enough"));
  event.outside_bytes = 900 << 20;
  EXPECT_TRUE(has(text_of(report), "hint: most of the memory is held by others"));
  EXPECT_FALSE(has(hint_for(report, event, {}), "pools"));
  event.bytes = std::uint64_t{2} << 30;
  EXPECT_TRUE(has(text_of(report), "hint: it asks for more than the whole GPU has (1.00 GiB)\n"))
      << text_of(report);
  event.bytes = 300 << 20;
  event.by_limit = true;  // of a report that does not tell which
  EXPECT_TRUE(has(text_of(report), "hint: the limit of --device-memory-limit refused it"));
}

TEST(Oom, TellsContextsOfThisProcessFromOthers) {
  Report report = refused();
  OomEvent& event = report.oom.events[0];
  event.native_free_bytes = event.split_free_bytes = 0;
  event.outside_bytes = event.context_bytes = 400 << 20;
  event.module_bytes = 0;
  EXPECT_TRUE(has(text_of(report),
                  "hint: most of the memory is held by contexts of this process: 400 MiB, see "
                  "vramscope owners"))
      << text_of(report);
  event.outside_bytes = 900 << 20;
  EXPECT_TRUE(has(text_of(report), "hint: most of the memory is held by others"));
}

TEST(Oom, OfAnAttachedProcessBlamesWhatItHadBeforeAndNotOthers) {
  Report report = refused();
  OomEvent& event = report.oom.events[0];
  event.native_free_bytes = event.split_free_bytes = 0;
  event.context_bytes = event.module_bytes = event.pool_bytes = 0;
  event.outside_bytes = 900 << 20;
  event.before_bytes = 850 << 20;
  EXPECT_TRUE(has(text_of(report), "850 MiB  83.0 %  from before Vramscope was attached, contexts"))
      << text_of(report);
  EXPECT_TRUE(has(text_of(report), "50.0 MiB   4.9 %  others: other processes")) << text_of(report);
  EXPECT_TRUE(has(hint_for(report, event, {}), "most of the memory is from before Vramscope was"))
      << hint_for(report, event, {});
}

TEST(Oom, TellsWhatPoolsOfThisProcessKeepFromOthers) {
  Report report = refused();
  OomEvent& event = report.oom.events[0];  // lacks 176 MiB
  event.native_free_bytes = event.split_free_bytes = 0;
  event.context_bytes = event.module_bytes = 0;
  event.outside_bytes = 400 << 20;
  event.pool_bytes = event.pool_pending_bytes = 300 << 20;
  EXPECT_TRUE(has(text_of(report), " kept by the driver's pools beyond live memory: its"))
      << text_of(report);
  EXPECT_TRUE(has(text_of(report), "100 MiB   9.8 %  others: other processes"));
  EXPECT_EQ(hint_for(report, event, {}),
            "the driver's pools kept 300 MiB, freed by cudaFreeAsync: synchronize its streams "
            "before, and there is enough");
  event.pool_pending_bytes = 100 << 20;
  EXPECT_TRUE(has(text_of(report), "live memory; of 100 MiB the streams"));
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

// The report of the refusal takes it for a leak.
TEST(Oom, SaysWhatWasFreedAfterwards) {
  Report report = refused();
  report.trigger = "exit";
  report.sites[0].totals.live_bytes = report.sites[0].totals.live_count = 0;
  const char* const line =
      "  200 MiB of the live memory, in 45 blocks from 1 call site, was freed later\n";
  EXPECT_TRUE(has(text_of(report), line)) << text_of(report);
  report.trigger = "oom";
  EXPECT_FALSE(has(text_of(report), line));
  report.trigger = "exit";
  report.sites[0].totals.live_count = 1;
  EXPECT_FALSE(has(text_of(report), "freed later"));
}

TEST(Oom, CallsFragmentationWhatTheMapDoes) {
  Report report = refused_by_limit(1 << 20, std::uint64_t{1} << 30);
  OomEvent& event = report.oom.events.front();
  event.split_free_bytes = 2 << 20;
  EXPECT_EQ(stranded_then(report, event), 0U);
  EXPECT_TRUE(has(hint_for(report, event, {}),
                  "refused it, not the GPU; 300 MiB were live: 200 MiB of 1 call site that freed "
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
  EXPECT_TRUE(has(hint(live), ": 200 MiB of 1 call site that freed nothing; see LIVE AT"));
  EXPECT_TRUE(has(hint(live + 1), "most of the memory: see LIVE AT THE REFUSAL"))
      << "it may be the end";
  EXPECT_TRUE(has(hint(3 * live),
                  ": 200 MiB temporary (1 call site that freed most allocations), whose "
                  "lifetimes overlapped: if freed earlier, it would have been enough; see"))
      << hint(3 * live);
  event.bytes = 400 << 20;
  EXPECT_FALSE(has(hint(3 * live), "overlapped")) << "it would not have been enough";
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
  const std::string text = render(oom_text(report, {}, sample_names(), page, 10), page);
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
