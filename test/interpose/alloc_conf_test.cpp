// The settings string of the allocator: names, ranges, lists, resets, and what is told about it.
// SPDX-License-Identifier: Apache-2.0
#include "interpose/settings/alloc_conf.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace vramscope {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

Limits parsed(std::string_view text, const Limits& before = {}) {
  const AllocConf conf = parse_alloc_conf(text, before);
  EXPECT_TRUE(conf.problems.empty()) << conf.problems.front();
  return conf.limits;
}

// The one line about a string that changes nothing.
std::string problem(std::string_view text) {
  const AllocConf conf = parse_alloc_conf(text, {});
  EXPECT_EQ(conf.limits, Limits{}) << text;
  return conf.problems.size() == 1 ? conf.problems.front() : "not one problem";
}

TEST(AllocConf, IsTheDefaultWhenNothingIsSet) {
  EXPECT_EQ(parsed(""), Limits{});
  EXPECT_EQ(parsed(" "), Limits{});
}

TEST(AllocConf, EachSettingCanBeSet) {
  EXPECT_EQ(parsed("max_split_size_mb:21").max_split_size, 21 * kMiB);
  EXPECT_EQ(parsed("max_non_split_rounding_mb:32").max_non_split_rounding, 32 * kMiB);
  EXPECT_EQ(parsed("max_non_split_rounding_mb:21").max_non_split_rounding, 21 * kMiB);
  EXPECT_EQ(parsed("roundup_power2_divisions:1").roundup_power2_divisions[0], 1u);
  EXPECT_EQ(parsed("per_process_memory_fraction:0").memory_fraction, 0.0);
  EXPECT_FALSE(parsed("throw_on_cudamalloc_oom:False").throw_on_cudamalloc_oom);
  EXPECT_EQ(parsed("pinned_max_round_threshold_mb:0").pinned_max_round_threshold, 0u);
  EXPECT_EQ(parsed("large_segment_size_mb:11").large_segment_size, 11 * kMiB);
  EXPECT_EQ(parsed("roundup_power2_divisions:8").roundup_power2_divisions[15], 8u);
  EXPECT_EQ(parsed("garbage_collection_threshold:0.25").garbage_collection_threshold, 0.25);
  EXPECT_EQ(parsed("per_process_memory_fraction:1").memory_fraction, 1.0);
  EXPECT_TRUE(parsed("throw_on_cudamalloc_oom:True").throw_on_cudamalloc_oom);
  EXPECT_EQ(parsed("pinned_max_round_threshold_mb:64").pinned_max_round_threshold, 64 * kMiB);
  EXPECT_EQ(parsed("pinned_max_cached_size_mb:0").pinned_max_cached_size, 0u);
  EXPECT_FALSE(parsed("exact_fallback:False").exact_fallback);
}

TEST(AllocConf, TakesSeveralSettingsAndIgnoresSpaces) {
  const Limits limits = parsed(" max_split_size_mb : 41 , garbage_collection_threshold:0.7,");

  EXPECT_EQ(limits.max_split_size, 41 * kMiB);
  EXPECT_EQ(limits.garbage_collection_threshold, 0.7);
}

TEST(AllocConf, ReadsAListOfDivisionsByInterval) {
  const Limits limits =
      parsed("roundup_power2_divisions:[2:8,16:0,64:16,>:1],max_split_size_mb:99");

  EXPECT_EQ(limits.roundup_power2_divisions, (decltype(limits.roundup_power2_divisions){
                                                 8, 8, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(limits.max_split_size, 99 * kMiB);
}

// The bound of a large segment holds wherever it stands in the string.
TEST(AllocConf, ComparesTheSplitSizeWithTheLargeSegment) {
  EXPECT_EQ(parsed("max_split_size_mb:15,large_segment_size_mb:12").max_split_size, 15 * kMiB);
  EXPECT_EQ(parsed("large_segment_size_mb:64").max_non_split_rounding, 64 * kMiB);
}

TEST(AllocConf, ASettingsStringResetsWhatItDoesNotName) {
  const Limits before = parsed(
      "max_split_size_mb:41,max_non_split_rounding_mb:32,roundup_power2_divisions:4,"
      "garbage_collection_threshold:0.5,per_process_memory_fraction:0.5,"
      "pinned_max_cached_size_mb:1,throw_on_cudamalloc_oom:True,exact_fallback:False");

  const Limits after = parsed("", before);

  Limits expected = before;
  expected.max_split_size = Limits::kUnlimited;
  expected.roundup_power2_divisions = {};
  expected.garbage_collection_threshold = 0;
  EXPECT_EQ(after, expected);
}

TEST(AllocConf, ABadValueIsToldWithItsRangeAndChangesNothing) {
  EXPECT_EQ(problem("max_split_size_mb:2"),
            "allocator setting max_split_size_mb:2 is not a number of MiB above "
            "large_segment_size_mb (20); keeping what was set before");
  for (const char* text : {"max_split_size_mb:20",
                           "max_split_size_mb:-1",
                           "max_split_size_mb",
                           "max_split_size_mb:",
                           "max_non_split_rounding_mb:20",
                           "large_segment_size_mb:10",
                           "roundup_power2_divisions:0",
                           "roundup_power2_divisions:3",
                           "roundup_power2_divisions:[256:1,3:2]",
                           "roundup_power2_divisions:[256]",
                           "roundup_power2_divisions:[256:1",
                           "roundup_power2_divisions:4294967296",
                           "garbage_collection_threshold:0",
                           "garbage_collection_threshold:1",
                           "per_process_memory_fraction:-0.1",
                           "pinned_max_round_threshold_mb:-1",
                           "pinned_reserve_segment_size_mb:x",
                           "pinned_num_register_threads:256",
                           "pinned_free_catch_all:perhaps",
                           "expandable_segments_reserve:",
                           "garbage_collection_threshold:1.2",
                           "garbage_collection_threshold:nan",
                           "per_process_memory_fraction:1.01",
                           "per_process_memory_fraction:nan",
                           "throw_on_cudamalloc_oom:maybe",
                           "pinned_max_cached_size_mb:x",
                           "exact_fallback:2",
                           "pinned_num_register_threads:1024",
                           "pinned_num_register_threads:none",
                           "pinned_use_cuda_host_register:maybe",
                           "backend:other",
                           "expandable_segments:perhaps",
                           "growing_segments:perhaps"}) {
    EXPECT_NE(problem(text).find(" is not "), std::string::npos) << text;
  }
}

TEST(AllocConf, ASizeBeyondEveryAddressIsAsGoodAsNone) {
  EXPECT_GE(parsed("max_split_size_mb:18446744073709551615").max_split_size, 1ull << 63);
}

TEST(AllocConf, AnUnknownNameGetsTheNearest) {
  EXPECT_EQ(problem("max_split_size:30"),
            "unknown allocator setting 'max_split_size' ignored; nearest is max_split_size_mb");
}

TEST(AllocConf, TheNearestIsFoundFromAnywhere) {
  for (const auto& [wrong, nearest] :
       {std::pair{"roundup_power_divisions:4", "roundup_power2_divisions"},
        std::pair{"garbage_colection_treshold:0.5", "garbage_collection_threshold"},
        std::pair{"expandable_segment:True", "expandable_segments"},
        std::pair{"throw_on_cudamaloc_oom:True", "throw_on_cudamalloc_oom"},
        std::pair{":", "backend"}}) {
    EXPECT_TRUE(problem(wrong).ends_with(std::string("nearest is ") + nearest)) << problem(wrong);
  }
}

TEST(AllocConf, WhatHasNoEffectHereIsAcceptedWithOneLine) {
  for (const char* text :
       {"backend:native", "backend:cudaMallocAsync", "release_lock_on_cudamalloc:True",
        "release_lock_on_hipmalloc:False", "pinned_use_background_threads:True",
        "graph_capture_record_stream_reuse:True", "pinned_use_cuda_host_register:True",
        "pinned_use_hip_host_register:True", "pinned_num_register_threads:8",
        "pinned_num_register_threads:128", "pinned_reserve_segment_size_mb:16",
        "pinned_free_catch_all:True", "expandable_segments_reserve:40G",
        "expandable_segments_reserve_by_class:[a:1,b:2]"}) {
    const AllocConf conf = parse_alloc_conf(text, {});
    EXPECT_TRUE(conf.problems.empty()) << text;
    ASSERT_EQ(conf.notes.size(), 1u) << text;
    EXPECT_NE(conf.notes[0].find(std::string(text) + " has no effect here: "), std::string::npos);
  }
}

TEST(AllocConf, WhatThePolicyDoesNotKnowIsAcceptedWithOneLine) {
  const Limits native{.policy = Policy::native_safe};
  for (const char* text :
       {"max_split_size_mb:128", "max_non_split_rounding_mb:32", "large_segment_size_mb:40",
        "roundup_power2_divisions:4", "exact_fallback:False", "expandable_segments:True",
        "pinned_max_round_threshold_mb:4", "growing_segments:True"}) {
    const AllocConf conf = parse_alloc_conf(text, native);
    EXPECT_TRUE(conf.problems.empty()) << text;
    ASSERT_EQ(conf.notes.size(), 1u) << text;
    EXPECT_EQ(conf.notes[0], std::string("allocator setting ") + text +
                                 " has no effect here: it belongs to --policy pytorch");
    EXPECT_TRUE(parse_alloc_conf(text, {}).notes.empty()) << text;
  }
}

TEST(AllocConf, WhatEveryPolicyKnowsHasNoLine) {
  for (const char* text :
       {"per_process_memory_fraction:0.5", "garbage_collection_threshold:0.5",
        "throw_on_cudamalloc_oom:True", "exact_fallback:True", "pinned_max_cached_size_mb:4"}) {
    EXPECT_TRUE(parse_alloc_conf(text, {.policy = Policy::native_safe}).notes.empty()) << text;
  }
}

TEST(AllocConf, SaysWhetherExpandableSegmentsAreWanted) {
  const AllocConf wanted = parse_alloc_conf("expandable_segments:True", {});
  EXPECT_TRUE(wanted.limits.expandable_segments);
  EXPECT_TRUE(wanted.notes.empty());
  EXPECT_TRUE(parse_alloc_conf("max_split_size_mb:64", wanted.limits).limits.expandable_segments);
  EXPECT_FALSE(
      parse_alloc_conf("expandable_segments:False", wanted.limits).limits.expandable_segments);
}

TEST(AllocConf, SegmentsGrowInOneWayOnly) {
  const AllocConf growing = parse_alloc_conf("growing_segments:True", {});
  EXPECT_TRUE(growing.limits.growing_segments);
  EXPECT_TRUE(growing.problems.empty());
  const AllocConf both = parse_alloc_conf("growing_segments:True,expandable_segments:True", {});
  ASSERT_EQ(both.problems.size(), 1u);
  EXPECT_EQ(
      both.problems[0],
      "allocator setting expandable_segments:True cannot be combined with growing_segments:True; "
      "keeping what was set before");

  const AllocConf other = parse_alloc_conf("expandable_segments:True", growing.limits);
  EXPECT_TRUE(other.limits.growing_segments);
  EXPECT_FALSE(other.limits.expandable_segments);
  EXPECT_EQ(other.problems.size(), 1u);
  EXPECT_TRUE(parse_alloc_conf("growing_segments:False,expandable_segments:True", growing.limits)
                  .limits.expandable_segments);
}

TEST(AllocConf, FewShortLinesSayWhatIsWrongWithMuch) {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += "unknown:1,backend:native,";
  const std::string long_word(1'000'000, 'x');
  ((text += long_word) += ":1,max_split_size_mb:") += long_word;

  const AllocConf conf = parse_alloc_conf(text, Limits{});

  EXPECT_EQ(conf.problems.size(), 21U);
  EXPECT_EQ(conf.notes.size(), 21U);
  for (const std::string& line : conf.problems) EXPECT_LT(line.size(), 400U);
}

}  // namespace
}  // namespace vramscope
