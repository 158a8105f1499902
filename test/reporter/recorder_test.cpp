// Interning and counting: the same answers and no event lost, with threads and full tables.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/record/recorder.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <set>
#include <thread>
#include <vector>

#include "test/reporter/made_events.h"

namespace vramscope {
namespace {

TEST(Recorder, GivesTheSameTagToTheSameQuestion) {
  Recorder recorder(2);
  const Tag tag = recorder.intern(stack_of({1, 2, 3}), kDevice0);

  EXPECT_NE(tag, 0U);
  EXPECT_EQ(recorder.intern(stack_of({1, 2, 3}), kDevice0), tag);
  EXPECT_NE(recorder.intern(stack_of({1, 2, 4}), kDevice0), tag);
  EXPECT_NE(recorder.intern(stack_of({1, 2}), kDevice0), tag);
  EXPECT_NE(recorder.intern(stack_of({1, 2, 3}), kDevice1), tag);
  EXPECT_NE(recorder.intern(stack_of({1, 2, 3}), kPinned), tag);
}

TEST(Recorder, SharesSitesAndFramesBetweenTags) {
  Recorder recorder(2);
  const Tag device = recorder.intern(stack_of({1, 2}), kDevice0);
  const Tag pinned = recorder.intern(stack_of({1, 2}), kPinned);
  const Tag other = recorder.intern(stack_of({3, 2}), kPinned);

  const RecorderFacts facts = recorder.facts();

  EXPECT_EQ(facts.tags.at(device).site, facts.tags.at(pinned).site);
  EXPECT_NE(facts.tags.at(other).site, facts.tags.at(pinned).site);
  EXPECT_EQ(facts.frames.size(), 3U);
  EXPECT_EQ(facts.sites.at(facts.tags.at(other).site).frames, (std::vector<std::uint32_t>{2, 1}));
  EXPECT_EQ(facts.tags.at(pinned).place.kind, Kind::pinned);
}

TEST(Recorder, TellsAStackFromOneThatEndsAsItDoes) {
  Recorder recorder(2);
  const Tag longer = recorder.intern(stack_of({3, 2, 1}), kDevice0);
  const Tag shorter = recorder.intern(stack_of({2, 1}), kDevice0);
  const Tag other = recorder.intern(stack_of({4, 2, 1}), kDevice0);

  const RecorderFacts facts = recorder.facts();

  const auto offsets_of = [&](Tag tag) {
    std::vector<std::uint64_t> offsets;
    for (const std::uint32_t frame : facts.sites.at(facts.tags.at(tag).site).frames) {
      offsets.push_back(facts.frames.at(frame).offset);
    }
    return offsets;
  };
  EXPECT_EQ(offsets_of(longer), (std::vector<std::uint64_t>{3, 2, 1}));
  EXPECT_EQ(offsets_of(shorter), (std::vector<std::uint64_t>{2, 1}));
  EXPECT_EQ(offsets_of(other), (std::vector<std::uint64_t>{4, 2, 1}));
}

TEST(Recorder, GivesFactsThatLaterCallsDoNotChange) {
  RecorderFacts facts;
  {
    Recorder recorder(2);
    static_cast<void>(recorder.intern(stack_of({1}), kDevice0));
    facts = recorder.facts();
    static_cast<void>(recorder.intern(stack_of({2}), kDevice0));
  }

  EXPECT_EQ(facts.tags.size(), 2U);
  EXPECT_EQ(facts.sites.size(), 3U);  // two stand for many
  EXPECT_EQ(facts.sites.at(facts.tags.at(1).site).frames, std::vector<std::uint32_t>{0});
}

TEST(Recorder, KnowsAnEmptyStack) {
  Recorder recorder(1);
  const Tag tag = recorder.intern(Stack{}, kDevice0);

  EXPECT_NE(tag, 0U);
  EXPECT_TRUE(recorder.facts().sites.at(recorder.facts().tags.at(tag).site).frames.empty());
}

// As a function of ours has it that was called from there.
std::array<std::uintptr_t, 2> frame_called_from(const void* caller) {
  return {0, reinterpret_cast<std::uintptr_t>(caller)};
}

TEST(Recorder, KnowsTheTagOfACallerWithoutItsStack) {
  static const char here = 0, elsewhere = 0;
  const auto frame = frame_called_from(&here);
  const auto other_frame = frame_called_from(&elsewhere);
  const Origin asked{.place = kDevice0, .size_class = 3};
  Recorder recorder(2);
  Recorder other(2);
  const Tag tag = recorder.intern(Stack{}, asked);
  EXPECT_EQ(recorder.known(asked, frame.data()).tag, 0U);

  recorder.know(asked, frame[1], tag);

  EXPECT_EQ(recorder.known(asked, frame.data()).tag, tag);
  EXPECT_EQ(recorder.known(asked, other_frame.data()).tag, 0U);
  EXPECT_EQ(recorder.known({.place = kDevice0, .size_class = 4}, frame.data()).tag, 0U);
  EXPECT_EQ(recorder.known({.place = kDevice1, .size_class = 3}, frame.data()).tag, 0U);
  EXPECT_EQ(other.known(asked, frame.data()).tag, 0U);
}

TEST(Recorder, WarnsOnceWhenItsTagsAreUsedUp) {
  Recorder recorder(1, 3);
  EXPECT_NE(recorder.intern(stack_of({1}), kDevice0), 0U);
  EXPECT_NE(recorder.intern(stack_of({2}), kDevice0), 0U);

  EXPECT_EQ(recorder.intern(stack_of({3}), kDevice0), 0U);
  EXPECT_EQ(recorder.intern(stack_of({4}), kDevice0), 0U);
  EXPECT_EQ(recorder.facts().dropped_stacks, 2U);

  EXPECT_NE(recorder.intern(stack_of({2}), kDevice0), 0U);
  EXPECT_EQ(recorder.facts().warnings.size(), 1U);
}

TEST(Recorder, LosesNoEventOfEightThreads) {
  constexpr int kThreads = 8;
  constexpr std::uint64_t kEvents = 100'000;
  Recorder recorder(2);
  const Tag tag = recorder.intern(stack_of({1}), kDevice0);
  const auto work = [&] {
    for (std::uint64_t i = 0; i < kEvents; ++i) recorder.record(allocation(Served::hit, i, tag));
  };

  for (int round = 0; round < 2; ++round) {  // the second one takes over the sets of the first
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) threads.emplace_back(work);
    for (int i = 0; i < 100; ++i) static_cast<void>(recorder.facts());
    for (std::thread& thread : threads) thread.join();
  }

  const RecorderFacts facts = recorder.facts();
  const std::uint64_t sum = 2 * kThreads * (kEvents * (kEvents - 1) / 2);
  EXPECT_EQ(facts.functions.at(1).calls, 2 * kThreads * kEvents);
  EXPECT_EQ(facts.functions.at(1).time.total_ns, sum);
  EXPECT_EQ(facts.devices.at(0).second.alloc_hit.count, 2 * kThreads * kEvents);
  EXPECT_EQ(facts.tags.at(tag).total_ns, sum);
}

// More tags than a thread keeps the times of.
TEST(Recorder, LosesNoTimeOfManyTags) {
  constexpr std::size_t kTags = 300;
  constexpr int kRounds = 5;
  Recorder recorder(2);
  std::vector<Tag> tags;
  for (std::uintptr_t i = 1; i <= kTags; ++i) {
    tags.push_back(recorder.intern(stack_of({i}), kDevice0));
  }
  std::vector<std::thread> threads;

  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int round = 0; round < kRounds; ++round) {
        for (const Tag tag : tags) recorder.record(allocation(Served::hit, 10 + tag, tag));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();

  const RecorderFacts facts = recorder.facts();
  for (const Tag tag : tags) {
    ASSERT_EQ(facts.tags.at(tag).total_ns, (10U + tag) * 4 * kRounds) << tag;
  }
}

// Each thread counts for itself, and keeps apart those of its tags that it has not met lately.
TEST(Recorder, CountsOfManyTagsWhatWasFreedAtOnce) {
  constexpr std::uintptr_t kTags = 100;
  constexpr int kThreads = 4;
  constexpr int kRounds = 5;
  Recorder recorder(2);
  recorder.call_for_tags({[](void*, Tag, const Groups&) {}, nullptr});
  std::vector<Tag> tags;
  for (std::uintptr_t i = 1; i <= kTags; ++i) {
    tags.push_back(recorder.intern(stack_of({i}), kDevice0));
  }

  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int round = 0; round < kRounds; ++round) {
        for (const Tag tag : tags) {
          Event event = allocation(Served::hit, 10, tag);
          recorder.record(event);
          event.effect = Effect::release;
          recorder.record(event);
          recorder.record(event);  // it was not the thread's last any more
        }
      }
      recorder.record(allocation(Served::hit, 0, 0));
    });
  }
  for (std::thread& thread : threads) thread.join();

  const RecorderFacts facts = recorder.facts();
  for (const Tag tag : tags) {
    EXPECT_EQ(facts.tags.at(tag).temporary, std::uint64_t{kThreads} * kRounds) << tag;
    EXPECT_EQ(facts.tags.at(tag).total_ns, std::uint64_t{kThreads} * kRounds * 10) << tag;
  }
}

// Seen of weights that a program frees last: 100 % temporary.
TEST(Recorder, WhatAThreadFreesLastIsNotTemporary) {
  Recorder recorder(2);
  recorder.call_for_tags({[](void*, Tag, const Groups&) {}, nullptr});
  const Tag tag = recorder.intern(stack_of({1}), kDevice0);
  Event came = allocation(Served::hit, 10, tag);
  came.address = 0x7f0000000000;
  Event went = came;
  went.effect = Effect::release;
  const auto temporary = [&] { return recorder.facts().tags.at(tag).temporary; };

  std::thread([&] {
    recorder.record(came);
    recorder.record(went);
    EXPECT_EQ(temporary(), 0U);
    recorder.record(came);
    EXPECT_EQ(temporary(), 1U);
    recorder.record(went);
  }).join();
  EXPECT_EQ(temporary(), 1U);
}

TEST(Recorder, GivesEightThreadsTheSameTags) {
  constexpr std::uintptr_t kStacks = 2000;
  Recorder recorder(1);
  std::vector<std::vector<Tag>> tags(8);
  std::vector<std::thread> threads;

  for (auto& mine : tags) {
    threads.emplace_back([&] {
      for (std::uintptr_t i = 0; i < kStacks; ++i) {
        mine.push_back(recorder.intern(stack_of({i, i + 1, 7}), kDevice0));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();

  for (const auto& mine : tags) EXPECT_EQ(mine, tags[0]);
  EXPECT_EQ(std::set<Tag>(tags[0].begin(), tags[0].end()).size(), kStacks);
  EXPECT_EQ(recorder.facts().tags.size(), kStacks + 1);
}

// Frees from a thread's last destructors come after its own counters are gone.
struct LateCaller {
  Recorder* recorder = nullptr;
  ~LateCaller() { recorder->record(allocation(Served::hit, 1)); }
};

TEST(Recorder, CountsCallsFromAThreadsLastDestructors) {
  Recorder recorder(2);
  std::thread([&] {
    static thread_local LateCaller late;  // made first, destroyed last
    late.recorder = &recorder;
    recorder.record(allocation(Served::hit, 1));
  }).join();

  EXPECT_EQ(recorder.facts().functions.at(1).calls, 2U);
}

TEST(Recorder, KeepsEachWarningOnceAndNotWithoutEnd) {
  Recorder recorder(1);
  for (int i = 0; i < 1000; ++i) {
    recorder.warn("the same");
    recorder.warn(std::to_string(i).c_str());
  }

  EXPECT_EQ(recorder.facts().warnings.size(), 100U);
  EXPECT_EQ(recorder.facts().warnings.front(), "the same");
}

TEST(Recorder, KeepsErrno) {
  Recorder recorder(2);
  errno = 77;
  static_cast<void>(recorder.intern(stack_of({1, 2}), kDevice0));
  recorder.record(allocation(Served::hit, 1));
  recorder.warn("text");

  EXPECT_EQ(errno, 77);
}

}  // namespace
}  // namespace vramscope
