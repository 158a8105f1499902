// Of memory that ran out: when what was held is called a leak.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "reporter/view/text/oom_text.h"
#include "test/view/made_refusals.h"

namespace vramscope {
namespace {

TEST(Oom, SaysThatMostOfWhatWasHeldIsALeak) {
  Report report = leaked();
  EXPECT_TRUE(has(
      text_of(report),
      "  200 MiB of the live memory, in 45 blocks from 1 call site, was never freed: a leak\n"));
  EXPECT_EQ(hint_for(report, report.oom.events[0], leaks_for_oom(report, sample_names())),
            "most of the memory was never freed, and kept growing until the end: vramscope leaks "
            "lists the "
            "call sites");

  report.trigger = "oom";
  EXPECT_TRUE(has(text_of(report), "none of it freed: a leak, unless the program"));
  EXPECT_TRUE(has(text_of(report),
                  "hint: most of the memory was still live, and kept growing until the end"));
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
  EXPECT_TRUE(has(text_of(report),
                  "  190 MiB of the live memory, in 45 blocks from 1 call site, was never freed"));
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
  EXPECT_TRUE(has(
      text_of(report),
      "  200 MiB of the live memory, in 45 blocks from 1 call site, was never freed: a leak\n"));
  EXPECT_TRUE(has(text_of(report),
                  "hint: 200 MiB of the memory was never freed, and kept growing until the end"));

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
  EXPECT_TRUE(has(text_of(report),
                  "200 MiB of the live memory, in 45 blocks from 1 call site, was held, none"));

  report.sites[0].totals.total_count = 46;  // one was freed
  EXPECT_FALSE(has(text_of(report), "leak"));
}

}  // namespace
}  // namespace vramscope
