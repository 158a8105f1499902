// Best fit against an ordered set.
// SPDX-License-Identifier: Apache-2.0
#include "allocator/free_blocks.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <iterator>
#include <random>
#include <set>
#include <utility>
#include <vector>

namespace vramscope {
namespace {

class FreeBlocksTest : public testing::Test {
 protected:
  FreeBlocksTest() { EXPECT_TRUE(free_.prepare()); }

  BlockIndex add(Units size, Address address) {
    EXPECT_TRUE(table_.prepare());
    const BlockIndex block = table_.create();
    table_[block] = Block{};
    table_[block].size = size;
    table_[block].address = address;
    free_.insert(block);
    return block;
  }

  BlockTable table_;
  FreeBlocks free_{table_};
};

TEST_F(FreeBlocksTest, FindsNothingWhenEmpty) {
  EXPECT_EQ(free_.find(1), kNoBlock);
  EXPECT_EQ(free_.find(0xFFFFFFFF), kNoBlock);
}

TEST_F(FreeBlocksTest, PrefersTheSmallestBlockThatFits) {
  add(9, 0x1000);
  const BlockIndex best = add(7, 0x200000);
  add(5, 0x400000);

  EXPECT_EQ(free_.find(6), best);
}

TEST_F(FreeBlocksTest, PrefersTheLowestAddressAmongEquals) {
  add(7, 0x3000);
  const BlockIndex lowest = add(7, 0x1000);
  add(7, 0x2000);

  EXPECT_EQ(free_.find(7), lowest);
}

TEST_F(FreeBlocksTest, ComparesExactSizesInsideASharedBin) {
  add(1'000'001, 0x2000);
  const BlockIndex best = add(1'000'003, 0x1000);

  EXPECT_EQ(free_.find(1'000'002), best);
}

TEST_F(FreeBlocksTest, LooksFurtherWhenTheRequestsOwnBinHasOnlySmallerBlocks) {
  add(1'000'001, 0x2000);
  const BlockIndex larger = add(0xFFFFFFFF, 0x1000);

  EXPECT_EQ(free_.find(1'000'002), larger);
}

TEST_F(FreeBlocksTest, FindsNoErasedBlock) {
  const BlockIndex block = add(7, 0x1000);

  free_.erase(block);

  EXPECT_EQ(free_.find(1), kNoBlock);
}

struct Mix {
  const char* name;
  Units lowest, highest;
};

class FreeBlocksMix : public FreeBlocksTest, public testing::WithParamInterface<Mix> {};
// One size; sizes that share one bin; every bin.
INSTANTIATE_TEST_SUITE_P(Sizes, FreeBlocksMix,
                         testing::Values(Mix{"one", 8, 8}, Mix{"exact", 1, 4095},
                                         Mix{"bin", 1 << 22, (1 << 22) + 30'000},
                                         Mix{"border", 4000, 5000}, Mix{"all", 1, 0xFFFFFFFF}),
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
      held.push_back(add(size, address));
    } else {
      const std::size_t at = random() % held.size();
      const Block& block = table_[held[at]];
      expected.erase({block.size, block.address});
      free_.erase(held[at]);
      table_.destroy(held[at]);
      held[at] = held.back();
      held.pop_back();
    }
    const Units wanted = sizes(random);
    const auto best = expected.lower_bound({wanted, 0});
    const BlockIndex found = free_.find(wanted);
    ASSERT_EQ(found == kNoBlock, best == expected.end()) << "step " << i;
    if (found == kNoBlock) continue;
    ASSERT_EQ(table_[found].size, best->first) << "step " << i;
    ASSERT_EQ(table_[found].address, best->second) << "step " << i;
  }
}

}  // namespace
}  // namespace vramscope
