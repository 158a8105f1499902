// Splitting and merging.
// SPDX-License-Identifier: Apache-2.0
#include "allocator/pool/pool.h"

#include <gtest/gtest.h>

namespace vramscope {
namespace {

constexpr Address kSegment = 0x7f0000000000;
constexpr Units kSize = 4096;
constexpr PoolClass kPool = PoolClass::small;

class PoolTest : public testing::Test {
 protected:
  PoolTest() {
    EXPECT_TRUE(pools_.prepare(100));
    EXPECT_TRUE(table_.prepare());
    first_ = pools_.add_segment(kPool, table_, kSegment, kSize);
  }

  BlockIndex take(Units size) {
    EXPECT_TRUE(table_.prepare());
    const Pools::Found found = pools_.find(kPool, size);
    last_ = pools_.take(kPool, table_, found, size);
    table_[found.block].set_state(BlockState::active_allocated);
    return found.block;
  }

  SplitChange give_back(BlockIndex block) {
    return pools_.give_back(kPool, table_, table_.find_entry(table_[block].address()));
  }

  void expect_last(std::int64_t count, std::int64_t units) const {
    EXPECT_EQ(last_.count, count);
    EXPECT_EQ(last_.bytes, units * static_cast<std::int64_t>(kUnit));
  }

  BlockTable table_;
  Pools pools_{0};
  BlockIndex first_ = kNoBlock;
  SplitChange last_;
};

TEST_F(PoolTest, HandsOutTheLowerPart) {
  const BlockIndex block = take(10);

  EXPECT_EQ(table_[block].address(), kSegment);
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

TEST_F(PoolTest, CountsNothingWhenAWholeSegmentIsTaken) {
  const SplitChange change = pools_.take(kPool, table_, pools_.find(kPool, 10), kSize);

  EXPECT_EQ(table_[first_].size, kSize);
  EXPECT_EQ(change.count, 0);
}

TEST_F(PoolTest, KeepsAFreedBlockBetweenLiveOnesAsSplit) {
  take(10);
  const BlockIndex middle = take(20);
  take(30);

  last_ = give_back(middle);

  expect_last(1, 20);
}

TEST_F(PoolTest, MergesWithTheFreeNeighbourAbove) {
  take(10);
  const BlockIndex block = take(20);

  last_ = give_back(block);

  EXPECT_EQ(table_[block].size, kSize - 10);
  expect_last(0, 20);
}

TEST_F(PoolTest, MergesWithBothFreeNeighbours) {
  const BlockIndex low = take(10);
  const BlockIndex middle = take(20);
  take(30);
  const BlockIndex high = take(40);
  last_ = give_back(low);
  last_ = give_back(high);
  const BlockIndex third = table_[middle].next;
  last_ = give_back(third);

  last_ = give_back(middle);

  EXPECT_EQ(pools_.find(kPool, kSize).block, first_);
  EXPECT_EQ(table_.block_count(), 1u);
  expect_last(-2, 20 - static_cast<std::int64_t>(kSize));
}

TEST_F(PoolTest, NeverMergesWithAPendingBlock) {
  const BlockIndex low = take(10);
  const BlockIndex high = take(20);
  table_[low].set_state(BlockState::active_pending_free);

  last_ = give_back(high);

  EXPECT_EQ(table_[low].size, 10u);
}

// PyTorch's snapshots show it, so it is part of the policy.
TEST_F(PoolTest, TheRestKeepsTheRequestedSizeOfItsLastLife) {
  const BlockIndex block = take(10);
  table_[block].requested = 5000;
  last_ = give_back(block);

  const BlockIndex again = take(3);

  EXPECT_EQ(table_[table_[again].next].requested, 5000u);
}

TEST_F(PoolTest, CountsAWholeFreeSegmentAsIdle) {
  EXPECT_EQ(pools_.idle_bytes(), to_bytes(kSize));
  const BlockIndex block = take(10);
  EXPECT_EQ(pools_.idle_bytes(), 0u);

  last_ = give_back(block);

  EXPECT_EQ(pools_.idle_bytes(), to_bytes(kSize));
}

TEST_F(PoolTest, AFreeBlockKeepsItsEntry) {
  const BlockIndex low = take(10);
  take(20);

  last_ = give_back(low);

  EXPECT_EQ(table_.find(kSegment), low);
  EXPECT_FALSE(table_[low].is_live());
  EXPECT_EQ(table_.address_count(), 2u);
}

TEST_F(PoolTest, ABlockThatMergesLosesItsEntry) {
  const BlockIndex low = take(10);
  const BlockIndex middle = take(20);
  const BlockIndex high = take(30);
  const Address middle_address = table_[middle].address();
  const Address high_address = table_[high].address();

  last_ = give_back(high);
  last_ = give_back(low);
  last_ = give_back(middle);  // into both neighbours

  EXPECT_EQ(table_.find(kSegment), first_);
  EXPECT_EQ(table_.find(middle_address), kNoBlock);
  EXPECT_EQ(table_.find(high_address), kNoBlock);
  EXPECT_EQ(table_.address_count(), 1u);
}

TEST_F(PoolTest, ASegmentThatComesBackIsAsOldAsBefore) {
  last_ = give_back(take(10));
  pools_.count_search(kPool);

  pools_.set_aside(table_, first_);
  EXPECT_EQ(pools_.find(kPool, 1).block, kNoBlock);
  EXPECT_EQ(table_.address_count(), 0u);
  pools_.restore(table_, first_);

  EXPECT_EQ(pools_.find(kPool, 1).block, first_);
  EXPECT_EQ(pools_.age(table_[first_]), 1u);
  EXPECT_EQ(pools_.idle_bytes(), to_bytes(kSize));
}

TEST_F(PoolTest, ForgetsARemovedSegment) {
  pools_.set_aside(table_, first_);
  table_.destroy(first_);

  EXPECT_EQ(pools_.find(kPool, 1).block, kNoBlock);
  EXPECT_EQ(pools_.idle_bytes(), 0u);
  EXPECT_EQ(table_.block_count(), 0u);
  EXPECT_EQ(table_.address_count(), 0u);
}

}  // namespace
}  // namespace vramscope
