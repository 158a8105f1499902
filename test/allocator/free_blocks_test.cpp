// Best fit against an ordered set.
// SPDX-License-Identifier: Apache-2.0
#include "allocator/pool/free_blocks.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <iterator>
#include <random>
#include <set>
#include <utility>
#include <vector>

namespace vramscope {
namespace {

constexpr PoolClass kSmall = PoolClass::small;
constexpr PoolClass kLarge = PoolClass::large;

class FreeBlocksTest : public testing::Test {
 protected:
  FreeBlocksTest() { EXPECT_TRUE(free_.prepare(60'000)); }

  BlockIndex add(PoolClass pool, Units size, Address address) {
    EXPECT_TRUE(table_.prepare());
    const BlockIndex block = table_.create();
    table_[block] = Block{};
    table_[block].size = size;
    table_[block].where = address | (pool == PoolClass::small ? Block::kSmall : 0);
    free_.insert(pool, block, size, address);
    return block;
  }

  void erase(BlockIndex block) {
    const Block& b = table_[block];
    free_.erase(b.pool(), b.size, b.address());
  }

  BlockIndex find(PoolClass pool, Units size) const { return free_.find(pool, size).block; }

  BlockTable table_;
  FreeBlocks free_;
};

TEST_F(FreeBlocksTest, NoSmallBlockIsLargerThanASmallSegment) {
  add(kLarge, 2048, 0x7f0000000000);
  add(kLarge, 1 << 20, 0x7f0010000000);

  EXPECT_EQ(free_.find_from(kSmall, 4096, 0).block, kNoBlock);
  EXPECT_EQ(free_.find_from(kSmall, 4097, 0).block, kNoBlock);
  EXPECT_EQ(free_.find_from(kSmall, 1 << 20, 0).block, kNoBlock);
}

TEST_F(FreeBlocksTest, FindsNothingWhenEmpty) {
  EXPECT_EQ(find(kSmall, 1), kNoBlock);
  EXPECT_EQ(find(kSmall, 2048), kNoBlock);
  EXPECT_EQ(find(kLarge, 2049), kNoBlock);
  EXPECT_EQ(find(kLarge, 0xFFFFFFFF), kNoBlock);
}

TEST_F(FreeBlocksTest, PrefersTheSmallestBlockThatFits) {
  add(kSmall, 9, 0x1000);
  const BlockIndex best = add(kSmall, 7, 0x200000);
  add(kSmall, 5, 0x400000);

  EXPECT_EQ(find(kSmall, 6), best);
}

TEST_F(FreeBlocksTest, PrefersTheLowestAddressAmongEquals) {
  add(kSmall, 7, 0x3000);
  const BlockIndex lowest = add(kSmall, 7, 0x1000);
  add(kSmall, 7, 0x2000);

  EXPECT_EQ(find(kSmall, 7), lowest);
}

TEST_F(FreeBlocksTest, ComparesExactSizesInsideASharedBin) {
  add(kLarge, 1'000'001, 0x2000);
  const BlockIndex best = add(kLarge, 1'000'003, 0x1000);

  EXPECT_EQ(find(kLarge, 1'000'002), best);
}

TEST_F(FreeBlocksTest, LooksFurtherWhenTheRequestsOwnBinHasOnlySmallerBlocks) {
  add(kLarge, 1'000'001, 0x2000);
  const BlockIndex larger = add(kLarge, 0xFFFFFFFF, 0x1000);

  EXPECT_EQ(find(kLarge, 1'000'002), larger);
}

TEST_F(FreeBlocksTest, FindsNoErasedBlock) {
  const BlockIndex block = add(kSmall, 7, 0x1000);

  erase(block);

  EXPECT_EQ(find(kSmall, 1), kNoBlock);
}

struct Mix {
  const char* name;
  PoolClass pool;
  Units lowest, highest;
};

class FreeBlocksMix : public FreeBlocksTest, public testing::WithParamInterface<Mix> {};
// One size; sizes that share one bin; every bin.
INSTANTIATE_TEST_SUITE_P(Sizes, FreeBlocksMix,
                         testing::Values(Mix{"one", kSmall, 8, 8}, Mix{"small", kSmall, 1, 4096},
                                         Mix{"bin", kLarge, 1 << 22, (1 << 22) + 30'000},
                                         Mix{"border", kLarge, 2049, 5000},
                                         Mix{"large", kLarge, 2049, 0xFFFFFFFF}),
                         [](const auto& info) { return info.param.name; });

TEST_P(FreeBlocksMix, AgreesWithAnOrderedSet) {
  std::set<std::pair<std::uint64_t, Address>> expected;
  std::vector<BlockIndex> held;
  std::mt19937_64 random(2);
  std::uniform_int_distribution<Units> sizes(GetParam().lowest, GetParam().highest);

  for (int i = 0; i < 60'000; ++i) {
    if (held.empty() || random() % 100 < (i / 10'000 % 2 ? 35 : 65)) {
      const Units size = sizes(random);
      const Address address = 0x7f0000000000 + static_cast<Address>(i) * 7919 % 65536 * kUnit;
      if (!expected.emplace(size, address).second) continue;
      held.push_back(add(GetParam().pool, size, address));
    } else {
      const std::size_t at = random() % held.size();
      const Block& block = table_[held[at]];
      expected.erase({block.size, block.address()});
      erase(held[at]);
      table_.destroy(held[at]);
      held[at] = held.back();
      held.pop_back();
    }
    const Units wanted = sizes(random);
    const Address from = 0x7f0000000000 + random() % 65536 * kUnit;
    const auto next = expected.lower_bound({wanted, from});
    const BlockIndex found_next = free_.find_from(GetParam().pool, wanted, from).block;
    ASSERT_EQ(found_next == kNoBlock, next == expected.end()) << "step " << i;
    if (found_next != kNoBlock) {
      ASSERT_EQ(table_[found_next].size, next->first) << "step " << i;
      ASSERT_EQ(table_[found_next].address(), next->second) << "step " << i;
    }
    const auto best = expected.lower_bound({wanted, 0});
    const FreeBlocks::Found found = free_.find(GetParam().pool, wanted);
    ASSERT_EQ(found.block == kNoBlock, best == expected.end()) << "step " << i;
    if (found.block == kNoBlock) continue;
    ASSERT_EQ(table_[found.block].size, best->first) << "step " << i;
    ASSERT_EQ(table_[found.block].address(), best->second) << "step " << i;
    ASSERT_EQ(found.size, best->first) << "step " << i;
  }
}

}  // namespace
}  // namespace vramscope
