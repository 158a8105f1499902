// Splitting and merging.
// SPDX-License-Identifier: Apache-2.0
#include "allocator/pool.h"

#include <gtest/gtest.h>

namespace vramscope {
namespace {

constexpr Address kSegment = 0x7f0000000000;
constexpr Units kSize = 4096;

class PoolTest : public testing::Test {
 protected:
  PoolTest() {
    EXPECT_TRUE(pool_.prepare());
    EXPECT_TRUE(table_.prepare());
    first_ = pool_.add_segment(kSegment, kSize);
  }

  BlockIndex take(Units size) {
    EXPECT_TRUE(table_.prepare());
    const BlockIndex block = pool_.find(size);
    last_ = pool_.take(block, size, Pool::Cut::yes);
    return block;
  }

  void expect_last(std::int64_t count, std::int64_t units) const {
    EXPECT_EQ(last_.count, count);
    EXPECT_EQ(last_.bytes, units * static_cast<std::int64_t>(kUnit));
  }

  BlockTable table_;
  Pool pool_{table_, PoolClass::small, 0};
  BlockIndex first_ = kNoBlock;
  SplitChange last_;
};

TEST_F(PoolTest, HandsOutTheLowerPart) {
  const BlockIndex block = take(10);

  EXPECT_EQ(table_[block].address, kSegment);
  EXPECT_EQ(table_[block].size, 10u);
}

TEST_F(PoolTest, CountsTheRestOfTheFirstCutAsSplit) {
  take(10);

  expect_last(1, kSize - 10);
}

TEST_F(PoolTest, CountsOnlyTheBytesThatAFurtherCutTakes) {
  take(10);
  take(20);

  expect_last(0, -20);
}

TEST_F(PoolTest, CountsASplitBlockThatIsConsumedWhole) {
  take(10);
  take(kSize - 10);

  expect_last(-1, -static_cast<std::int64_t>(kSize - 10));
}

TEST_F(PoolTest, LeavesTheRestWithItsBlockWhenToldNotToCut) {
  const SplitChange change = pool_.take(first_, 10, Pool::Cut::no);

  EXPECT_EQ(table_[first_].size, kSize);
  EXPECT_EQ(change.count, 0);
}

TEST_F(PoolTest, KeepsAFreedBlockBetweenLiveOnesAsSplit) {
  take(10);
  const BlockIndex middle = take(20);
  take(30);

  last_ = pool_.give_back(middle, 0);

  expect_last(1, 20);
}

TEST_F(PoolTest, MergesWithTheFreeNeighbourAbove) {
  take(10);
  const BlockIndex block = take(20);

  last_ = pool_.give_back(block, 0);

  EXPECT_EQ(table_[block].size, kSize - 10);
  expect_last(0, 20);
}

TEST_F(PoolTest, MergesWithBothFreeNeighbours) {
  const BlockIndex low = take(10);
  const BlockIndex middle = take(20);
  take(30);
  const BlockIndex high = take(40);
  last_ = pool_.give_back(low, 0);
  last_ = pool_.give_back(high, 0);
  const BlockIndex third = table_[middle].next;
  last_ = pool_.give_back(third, 0);

  last_ = pool_.give_back(middle, 0);

  EXPECT_EQ(pool_.find(kSize), first_);
  EXPECT_EQ(table_.block_count(), 1u);
  expect_last(-2, 20 - static_cast<std::int64_t>(kSize));
}

TEST_F(PoolTest, NeverMergesWithAPendingBlock) {
  const BlockIndex low = take(10);
  const BlockIndex high = take(20);
  table_[low].state = BlockState::active_pending_free;

  last_ = pool_.give_back(high, 0);

  EXPECT_EQ(table_[low].size, 10u);
}

// PyTorch's snapshots show it, so it is part of the policy.
TEST_F(PoolTest, TheRestKeepsTheRequestedSizeOfItsLastLife) {
  const BlockIndex block = take(10);
  table_[block].requested = 5000;
  last_ = pool_.give_back(block, 0);

  const BlockIndex again = take(3);

  EXPECT_EQ(table_[table_[again].next].requested, 5000u);
}

TEST_F(PoolTest, CountsAWholeFreeSegmentAsIdle) {
  EXPECT_EQ(pool_.idle_bytes(), to_bytes(kSize));
  const BlockIndex block = take(10);
  EXPECT_EQ(pool_.idle_bytes(), 0u);

  last_ = pool_.give_back(block, 0);

  EXPECT_EQ(pool_.idle_bytes(), to_bytes(kSize));
}

TEST_F(PoolTest, ASegmentThatComesBackIsAsOldAsBefore) {
  pool_.count_search();

  pool_.set_aside(first_);
  EXPECT_EQ(pool_.find(1), kNoBlock);
  pool_.restore(first_);

  EXPECT_EQ(pool_.find(1), first_);
  EXPECT_EQ(pool_.age(first_), 1u);
  EXPECT_EQ(pool_.idle_bytes(), to_bytes(kSize));
}

TEST_F(PoolTest, ForgetsARemovedSegment) {
  pool_.set_aside(first_);
  table_.destroy(first_);

  EXPECT_EQ(pool_.find(1), kNoBlock);
  EXPECT_EQ(pool_.idle_bytes(), 0u);
  EXPECT_EQ(table_.block_count(), 0u);
}

}  // namespace
}  // namespace vramscope
