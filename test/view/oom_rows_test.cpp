// Of memory that ran out again and again: the first and the last in full, the others as rows.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "reporter/view/text/oom_text.h"
#include "test/view/made_refusals.h"

namespace vramscope {
namespace {

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
  EXPECT_TRUE(
      has(text, "ran out too often; the last with details is the 16th refusal, after 5.00 s\n"))
      << text;
  EXPECT_TRUE(has(text, "THE LIMIT OF 1.00 GiB AT THE 16th\n  40.0 MiB   3.9 %  free under"))
      << text;
  EXPECT_TRUE(has(text, "hint, as of the 16th refusal: fragmentation")) << text;
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

  const std::string text =
      render(oom_text(report, {}, sample_names(), Page{.width = 200}, 10), Page{.width = 200});

  EXPECT_TRUE(
      has(text, "hint, as of the 16th refusal: the program itself holds most of the memory"))
      << text;
  EXPECT_TRUE(has(text, "    100 MiB more free memory would")) << text;
}

TEST(Oom, RefersToTheFirstWhereNoOtherWasLookedAt) {
  Report report = storm();
  report.oom.events.erase(report.oom.events.begin() + 1);

  const std::string text = text_of(report);

  EXPECT_TRUE(has(text, "memory ran out too often; the 1st refusal has details\n")) << text;
  EXPECT_FALSE(has(text, " AT THE 1")) << text;
  EXPECT_FALSE(has(text, "100 %")) << text;
}

TEST(Oom, ShowsTheFirstAndTheLastInFullAndOthersAsRows) {
  Report report = refused();
  OomEvent between = report.oom.events[0];
  between.number = 2;
  between.bytes = 7 << 20;
  report.oom.events.insert(report.oom.events.begin() + 1, between);
  report.oom.count = 13;

  const std::string text = text_of(report);

  EXPECT_TRUE(
      has(text, "ALSO REFUSED\n  7.00 MiB      1  5.00 s  -             GPU 0   libnet.so+0x40"))
      << text;
  EXPECT_TRUE(has(text, "  10 further refusals counted, without details\n")) << text;
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

  const std::string text =
      render(oom_text(report, {}, sample_names(), Page{.width = 200}, 10), Page{.width = 200});

  EXPECT_TRUE(has(text, "  7.00 MiB to 9.00 MiB      3  6.00 s to 8.00 s  -             GPU 0 "))
      << text;
  EXPECT_TRUE(has(
      text, "              8.00 MiB      1            8.00 s  -             GPU 0 stream_ordered"))
      << text;
  EXPECT_FALSE(has(text, "further refusal")) << text;
}

// Who freed and asked again on another line was listed as never served.
TEST(Oom, SaysWhoWasServedAsMuchLater) {
  Report report = refused();
  report.trigger = "exit";
  OomEvent& last = report.oom.events.back();
  last.is_watched = true;
  EXPECT_TRUE(has(text_of(report), "\n  no later allocation of this size succeeded\n"));
  EXPECT_TRUE(has(text_of(report), "WAS NEVER SERVED\n"));

  last.served_ns = 6'002'000'000;
  last.served_site = 0;
  const std::string text = text_of(report);
  EXPECT_TRUE(
      has(text,
          "\n  a request of this size was served 2.00 ms later, at make_weights (train.cpp:42) < "))
      << text;
  EXPECT_FALSE(has(text, "NEVER SERVED")) << text;
  EXPECT_TRUE(
      has(oom_line(report, sample_names()), "; a request of this size was served 2.00 ms later"));

  last.served_site = last.site;
  EXPECT_TRUE(has(text_of(report), "served 2.00 ms later, at the same call site\n"));

  report.trigger = "oom";  // written when it was refused: what came of it is not known yet
  last.served_ns = -1;
  EXPECT_FALSE(has(text_of(report), "of this size was served"));
}

// It once gave the sum of what was asked for again and again.
TEST(Oom, SaysWhatAPlaceThatWasNeverServedAskedForEachTime) {
  Report report = refused();
  report.sites[2].refused_count = 32;
  report.sites[2].refused_bytes = std::uint64_t{32} * (64 << 20);
  EXPECT_TRUE(
      has(text_of(report),
          "  ASKED EACH  COUNT  WAS NEVER SERVED\n    64.0 MiB     32  main (train.cpp:99)\n"))
      << text_of(report);
}

}  // namespace
}  // namespace vramscope
