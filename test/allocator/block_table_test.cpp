// Records, and the way from an address to a block.
// SPDX-License-Identifier: Apache-2.0
#include "allocator/pool/block_table.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <unordered_map>
#include <vector>

namespace vramscope {
namespace {

BlockIndex add(BlockTable& table, Address address) {
  EXPECT_TRUE(table.prepare());
  const BlockIndex block = table.create();
  table[block] = Block{};
  table[block].where = address;
  table.insert(block);
  return block;
}

TEST(BlockTable, FindsNothingWhenEmpty) {
  const BlockTable table;

  EXPECT_EQ(table.find(0x7f0000000000), kNoBlock);
}

TEST(BlockTable, FindsABlockByItsExactAddressOnly) {
  BlockTable table;

  const BlockIndex block = add(table, 0x7f0000000000);

  EXPECT_EQ(table.find(0x7f0000000000), block);
  EXPECT_EQ(table.find(0x7f0000000001), kNoBlock);
  EXPECT_EQ(table.find(0x7f0000000200), kNoBlock);
}

TEST(BlockTable, ForgetsAnErasedAddress) {
  BlockTable table;
  const BlockIndex block = add(table, 0x7f0000000000);

  table.erase(block);

  EXPECT_EQ(table.find(0x7f0000000000), kNoBlock);
  EXPECT_EQ(table.address_count(), 0u);
}

TEST(BlockTable, UsesADestroyedRecordAgain) {
  BlockTable table;
  const BlockIndex block = add(table, 0x7f0000000000);
  table.erase(block);

  table.destroy(block);

  EXPECT_EQ(table.create(), block);
}

TEST(BlockTable, ADestroyedRecordIsNotLive) {
  BlockTable table;
  const BlockIndex block = add(table, 0x7f0000000000);
  table.erase(block);

  table.destroy(block);

  EXPECT_FALSE(table[block].is_live());
}

TEST(BlockTable, RecordZeroCountsAsLiveSoThatNobodyMergesWithIt) {
  BlockTable table;

  ASSERT_TRUE(table.prepare());

  EXPECT_FALSE(table[kNoBlock].is_free());
}

// Long enough to outgrow the map several times, with frees while it moves.
TEST(BlockTable, AgreesWithAMapUnderRandomInsertionsAndRemovals) {
  BlockTable table;
  std::unordered_map<Address, BlockIndex> expected;
  std::vector<Address> live;
  std::mt19937_64 random(1);

  for (int i = 0; i < 200'000; ++i) {
    if (live.empty() || random() % 100 < 70) {
      const Address address = 0x7f0000000000 + random() % (1 << 24) * kUnit;
      if (!expected.contains(address)) {
        expected[address] = add(table, address);
        live.push_back(address);
      }
    } else {
      const std::size_t at = random() % live.size();
      const Address address = live[at];
      live[at] = live.back();
      live.pop_back();
      table.erase(expected[address]);
      table.destroy(expected[address]);
      expected.erase(address);
    }
    const Address probe = live.empty() ? 1 : live[random() % live.size()];
    ASSERT_EQ(table.find(probe), expected.contains(probe) ? expected[probe] : kNoBlock);
  }

  EXPECT_EQ(table.address_count(), expected.size());
  for (const auto& [address, block] : expected) ASSERT_EQ(table.find(address), block);
}

}  // namespace
}  // namespace vramscope
