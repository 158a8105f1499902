// Ordered sets against the standard library's.
// SPDX-License-Identifier: Apache-2.0
#include "allocator/pool/key_trees.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <random>
#include <vector>

namespace vramscope {
namespace {

using Key = KeyTrees::Key;

// One set in the trees and the same in a map.
class Twins {
 public:
  void insert(KeyTrees& trees, Key key, BlockIndex block) {
    if (!expected_.emplace(key, block).second) return;
    trees.insert(root_, key, block);
  }
  void erase(KeyTrees& trees, std::map<Key, BlockIndex>::iterator it) {
    trees.erase(root_, it->first);
    expected_.erase(it);
  }
  void expect_same(const KeyTrees& trees, Key limit) const {
    const KeyTrees::Entry found = trees.find(root_, limit);
    const auto above = expected_.upper_bound(limit);
    if (above == expected_.begin()) {
      ASSERT_EQ(found.block, kNoBlock);
    } else {
      ASSERT_EQ(found.key, std::prev(above)->first);
      ASSERT_EQ(found.block, std::prev(above)->second);
    }
  }
  void expect_greatest(KeyTrees& trees) {
    const auto last = std::prev(expected_.end());
    const KeyTrees::Entry found = trees.take_greatest(root_);
    ASSERT_EQ(found.key, last->first);
    ASSERT_EQ(found.block, last->second);
    expected_.erase(last);
    ASSERT_EQ(root_ == KeyTrees::kEmpty, expected_.empty());
  }
  [[nodiscard]] std::map<Key, BlockIndex>& expected() { return expected_; }

 private:
  KeyTrees::Root root_ = KeyTrees::kEmpty;
  std::map<Key, BlockIndex> expected_;
};

// Keys in order, in reverse, at random; then as many gone, in the same ways.
enum class Order { up, down, any };
class KeyTreesOrder : public testing::TestWithParam<std::tuple<Order, Order>> {};

Key next_key(Order order, Key i, std::mt19937_64& random) {
  if (order == Order::any) return random() % 1'000'000'000 + 1;
  return order == Order::up ? i : 1'000'000'000 - i;
}

TEST_P(KeyTreesOrder, AgreesWithAMapWhileItGrowsAndShrinks) {
  constexpr Key kKeys = 30'000;
  KeyTrees trees;
  ASSERT_TRUE(trees.prepare(1, kKeys));
  Twins twins;
  std::mt19937_64 random(7);

  for (Key i = 1; i <= kKeys; ++i) {
    twins.insert(trees, next_key(std::get<0>(GetParam()), i, random), static_cast<BlockIndex>(i));
    twins.expect_same(trees, random() % 1'000'000'000);
  }
  while (!twins.expected().empty()) {
    auto& expected = twins.expected();
    auto it = expected.begin();
    if (std::get<1>(GetParam()) == Order::down) it = std::prev(expected.end());
    if (std::get<1>(GetParam()) == Order::any) it = expected.lower_bound(random() % 1'000'000'000);
    if (it == expected.end()) it = expected.begin();
    twins.erase(trees, it);
    twins.expect_same(trees, random() % 1'000'000'000);
  }

  EXPECT_EQ(trees.node_count(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Orders, KeyTreesOrder,
                         testing::Combine(testing::Values(Order::up, Order::down, Order::any),
                                          testing::Values(Order::up, Order::down, Order::any)));

TEST(KeyTrees, FindsNothingInAnEmptySet) {
  const KeyTrees trees;

  EXPECT_EQ(trees.find(KeyTrees::kEmpty, ~Key{0}).block, kNoBlock);
}

// Sets that grow, shrink to almost nothing and grow elsewhere, so that nodes stay thin: what
// prepare() made room for must be enough.
TEST(KeyTrees, ThinNodesNeverExceedWhatWasPrepared) {
  constexpr std::size_t kSets = 8;
  constexpr std::size_t kKeys = 20'000;
  KeyTrees trees;
  ASSERT_TRUE(trees.prepare(kSets, kKeys));
  std::vector<Twins> sets(kSets);
  std::mt19937_64 random(11);
  std::size_t live = 0;

  for (int round = 0; round < 12; ++round) {
    Twins& twins = sets[random() % kSets];
    for (Key i = 0; live < kKeys; ++i) {
      const std::size_t before = twins.expected().size();
      twins.insert(trees, random() % 1'000'000'000 + 1, static_cast<BlockIndex>(i + 1));
      live += twins.expected().size() - before;
    }
    for (Twins& each : sets) {  // every run of keys but its first goes
      std::size_t position = 0;
      for (auto it = each.expected().begin(); it != each.expected().end();) {
        const auto next = std::next(it);
        if (position++ % 40 != 0) each.erase(trees, it), --live;
        it = next;
      }
      each.expect_same(trees, random() % 1'000'000'000);
    }
    ASSERT_LE(trees.node_count(), kSets + live / 4 + 16) << "round " << round;
  }
}

TEST(KeyTrees, GivesTheGreatestUntilTheSetIsEmpty) {
  KeyTrees trees;
  ASSERT_TRUE(trees.prepare(1, 5'000));
  Twins twins;
  std::mt19937_64 random(3);
  for (BlockIndex i = 1; i <= 5'000; ++i) twins.insert(trees, random() % 1'000'000, i);

  while (!twins.expected().empty()) twins.expect_greatest(trees);

  EXPECT_EQ(trees.node_count(), 0u);
}

}  // namespace
}  // namespace vramscope
