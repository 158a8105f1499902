// Raw stacks and their tags: what counts as the same, and readers beside writers.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/record/stack/stack_table.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

namespace vramscope {
namespace {

constexpr std::array<std::uintptr_t, 3> kFrames{1, 2, 3};

TEST(StackTable, TellsTheSameAddressesApartAfterAnUnload) {
  StackTable table;
  const StackKey before{.frames = kFrames, .origin = {}, .epoch = 1};
  const StackKey after{.frames = kFrames, .origin = {}, .epoch = 2};
  table.insert(before, StackTable::hash(before), 7);

  EXPECT_EQ(table.find(before, StackTable::hash(before)), 7U);
  EXPECT_EQ(table.find(after, StackTable::hash(after)), 0U);
}

TEST(StackTable, ComparesStacksAndNotOnlyTheirHashes) {
  StackTable table;
  const StackKey one{.frames = kFrames, .origin = {}, .epoch = 1};
  const StackKey shorter{.frames = std::span(kFrames).first(2), .origin = {}, .epoch = 1};
  const StackKey pinned{.frames = kFrames, .origin = {.place = {.kind = Kind::pinned}}, .epoch = 1};
  table.insert(one, 5, 1);
  table.insert(shorter, 5, 2);
  table.insert(pinned, 5, 3);

  EXPECT_EQ(table.find(one, 5), 1U);
  EXPECT_EQ(table.find(shorter, 5), 2U);
  EXPECT_EQ(table.find(pinned, 5), 3U);
}

TEST(StackTable, KeepsTheFirstTagOfAStack) {
  StackTable table;
  const StackKey key{.frames = kFrames, .origin = {}, .epoch = 1};
  table.insert(key, 5, 1);
  table.insert(key, 5, 2);

  EXPECT_EQ(table.find(key, 5), 1U);
}

TEST(StackTable, IsReadWhileItIsWritten) {
  constexpr std::uintptr_t kStacks = 20'000;
  StackTable table;
  std::atomic<bool> wrong = false;
  const auto key_of = [](const std::uintptr_t& frame) {
    return StackKey{.frames = {&frame, 1}, .origin = {}, .epoch = 1};
  };
  const auto work = [&] {
    for (std::uintptr_t frame = 1; frame <= kStacks; ++frame) {
      const StackKey key = key_of(frame);
      const std::uint64_t hash = frame % 64;  // long chains
      if (frame % 8 == 0) table.insert(key, hash, static_cast<Tag>(frame));
      const Tag found = table.find(key, hash);
      if (found != 0 && found != frame) wrong = true;
    }
  };

  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();

  EXPECT_FALSE(wrong);
}

}  // namespace
}  // namespace vramscope
