// Of memory that ran out: what the policy, its segments and a limit had to do with it.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "reporter/view/text/oom_text.h"
#include "test/view/made_refusals.h"

namespace vramscope {
namespace {

// It once did: what is free in pieces of its segments counted as if the driver had it in one.
TEST(Oom, BlamesNotTheDefaultPolicyForWhatTheDriverWouldRefuseToo) {
  Report report = refused();
  report.process.mode = "cache";
  report.process.options = {{"policy", "native-safe"}};
  EXPECT_FALSE(has(text_of(report), "without a cache up to"));
  EXPECT_FALSE(has(text_of(report), "probably have fit"));
  EXPECT_TRUE(has(text_of(report), "hint: fragmentation: the 500 MiB free in pieces"));

  report.oom.events[0].pending_bytes = 200 << 20;  // which the driver would have waited for
  EXPECT_TRUE(has(text_of(report), "hint: without the cache the request would probably have fit"));
}

TEST(Oom, BlamesNoCacheAndNoOthersWhereTheDriverServesAll) {
  Report report = refused();
  report.process.mode = "observe";
  OomEvent& event = report.oom.events[0];
  event.direct_bytes = 800 << 20;
  event.split_free_bytes = 0;
  EXPECT_TRUE(has(text_of(report), "in allocations of the program, served by the driver\n"));
  EXPECT_FALSE(has(text_of(report), "without a cache"));
  EXPECT_TRUE(has(text_of(report), "hint: the program itself holds most of the memory"));
  event.free_bytes = event.bytes;
  event.outside_bytes = 2000 << 20;
  EXPECT_TRUE(
      has(text_of(report), "hint: the driver had enough free memory, but refused the request"));
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

  EXPECT_TRUE(
      has(text, "THE LIMIT OF 1.00 GiB AT THE REFUSAL\n   140 MiB  13.7 %  free under the limit\n"))
      << text;
  EXPECT_TRUE(has(text, "the GPU itself has 15.0 GiB free; the limit does not allow its use\n"));
  const Page narrow{.width = 60};
  EXPECT_TRUE(has(
      render(oom_text(report, leaks_for_oom(report, sample_names()), sample_names(), narrow, 10),
             narrow),
      "the GPU itself has 15.0 GiB free;\n    the limit does not allow its use\n"));
  EXPECT_FALSE(has(text, "according to the driver"));
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
  EXPECT_TRUE(
      has(text_of(report),
          "  hint: fragmentation: the 500 MiB free in pieces would have been enough under the "
          "limit;\n    HELD BY lists the blocks that hold them\n"))
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
  EXPECT_TRUE(hint_for(report, event, {}).starts_with("fragmentation: the 18.0 MiB free"));
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
  EXPECT_TRUE(has(text, "released before Vramscope counted memory, a moment later")) << text;

  event.reserved_bytes = 1024 << 20;
  EXPECT_TRUE(has(text_of(report), "1.00 MiB more was held than at the refusal"));
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
                  "leaks lists the call sites; rounding took 50.0 MiB of what was held"));
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

}  // namespace
}  // namespace vramscope
