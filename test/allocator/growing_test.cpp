// Segments that grow by the pages that are needed, and whose idle pages move.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "test/allocator/allocator_fixture.h"

namespace vramscope::test {
namespace growing_test {

constexpr std::uint64_t kPage = 2 * kMiB;
constexpr Limits kGrowing{.exact_fallback = false, .growing_segments = true};

class Growing : public AllocatorFixture {
 protected:
  explicit Growing(Limits limits = kGrowing, std::uint64_t capacity = 1024 * kMiB)
      : AllocatorFixture(capacity, limits) {}
  ~Growing() override { EXPECT_EQ(backend_.misuses(), 0u); }

  std::uint64_t reserved() const {
    return static_cast<std::uint64_t>(statistics().reserved_bytes.all.current);
  }
  // Blocks of so many MiB, one behind the other.
  std::vector<Address> row(const std::vector<std::uint64_t>& sizes) {
    std::vector<Address> blocks;
    for (const std::uint64_t size : sizes) {
      blocks.push_back(address_of(size * kMiB));
      if (blocks.size() == 1) continue;
      const std::uint64_t before = sizes[blocks.size() - 2] * kMiB;
      EXPECT_EQ(blocks.back(), blocks[blocks.size() - 2] + before);
    }
    return blocks;
  }
  // Those of odd positions are freed.
  std::vector<Address> holes(const std::vector<std::uint64_t>& sizes) {
    const std::vector<Address> blocks = row(sizes);
    for (std::size_t i = 1; i < blocks.size(); i += 2) EXPECT_EQ(free(blocks[i]), Result::ok);
    return blocks;
  }
};

TEST_F(Growing, NoMorePagesAreMappedThanARequestNeeds) {
  static_cast<void>(address_of(1000));
  const Address first = address_of(3 * kMiB);
  EXPECT_EQ(address_of(64 * kMiB), first + 3 * kMiB);

  EXPECT_EQ(reserved(), kPage + 68 * kMiB);
  EXPECT_EQ(statistics().segment.all.allocated, 0);
  EXPECT_EQ(backend_.mapped_pages() * kPage, reserved());
}

TEST_F(Growing, AFreeBlockServesByTheBestFit) {
  const std::vector<Address> blocks = holes({4, 12, 4, 8, 4});

  EXPECT_EQ(address_of(7 * kMiB), blocks[3]);
  EXPECT_EQ(reserved(), 32 * kMiB);
}

TEST_F(Growing, PagesAreMappedWhereTheFewestAreNeeded) {
  const std::vector<Address> blocks = holes({100, 10, 4, 40, 4});
  allocator_.trim();  // both holes lose their pages
  const Address low = address_of(10 * kMiB);
  EXPECT_EQ(low, blocks[1]);  // five pages, as anywhere: the lowest address
  const Address high = address_of(6 * kMiB);
  EXPECT_EQ(high, blocks[3]);
  ASSERT_EQ(free(low), Result::ok);
  ASSERT_EQ(free(high), Result::ok);
  const std::uint64_t before = reserved();

  EXPECT_EQ(address_of(12 * kMiB), blocks[3]);  // not behind the last block, where all is new

  EXPECT_EQ(reserved(), before + 6 * kMiB);
}

TEST_F(Growing, ABlockGrowsDownwardsToo) {
  const std::vector<Address> blocks = holes({100, 40, 4});
  allocator_.trim();
  const Address filler = address_of(30 * kMiB);
  EXPECT_EQ(filler, blocks[1]);
  const Address upper = address_of(10 * kMiB);
  EXPECT_EQ(upper, blocks[1] + 30 * kMiB);
  ASSERT_EQ(free(filler), Result::ok);
  allocator_.trim();
  ASSERT_EQ(free(upper), Result::ok);
  const std::uint64_t before = reserved();

  EXPECT_EQ(address_of(16 * kMiB), blocks[2] - 16 * kMiB);

  EXPECT_EQ(reserved(), before + 6 * kMiB);
}

TEST_F(Growing, IdlePagesMoveInsteadOfMoreThatAreReserved) {
  static_cast<void>(holes({2, 40, 2, 40, 2}));

  static_cast<void>(address_of(80 * kMiB));

  EXPECT_EQ(reserved(), 88 * kMiB);  // 86 were live, and a thirty-second is a page
  EXPECT_EQ(allocator_.idle_bytes(0), kPage);
  EXPECT_EQ(backend_.mapped_pages() * kPage, reserved());
}

TEST_F(Growing, WithinAThirtySecondOfTheMostThatWasLiveNothingMoves) {
  static_cast<void>(holes({2, 4, 2, 300, 2}));
  static_cast<void>(address_of(296 * kMiB));

  static_cast<void>(address_of(8 * kMiB));

  EXPECT_EQ(statistics().num_device_free, 0);
  EXPECT_EQ(reserved(), 318 * kMiB);
}

TEST_F(Growing, TheSmallestBlocksLoseTheirPagesFirst) {
  const std::vector<Address> blocks = holes({2, 40, 2, 8, 2});

  static_cast<void>(address_of(42 * kMiB));  // takes 42 of the 48

  EXPECT_EQ(address_of(6 * kMiB), blocks[1] + 34 * kMiB);
}

TEST_F(Growing, PagesOfTheOtherPoolMoveToo) {
  std::array<Address, 40> small{};
  for (Address& block : small) block = address_of(kMiB);
  for (const Address block : small) ASSERT_EQ(free(block), Result::ok);

  static_cast<void>(address_of(40 * kMiB));

  EXPECT_EQ(reserved(), 40 * kMiB);
}

TEST_F(Growing, WherePagesRunOutOnlyThoseThatAreNeededAreTaken) {
  static_cast<void>(holes({500, 300, 2, 200, 2}));
  const std::uint64_t retries = static_cast<std::uint64_t>(statistics().num_alloc_retries);

  EXPECT_TRUE(allocate(350 * kMiB).status.ok());  // 20 MiB are left on the device

  EXPECT_EQ(reserved(), 1004 * kMiB);
  EXPECT_EQ(allocator_.idle_bytes(0), 150 * kMiB);
  EXPECT_EQ(static_cast<std::uint64_t>(statistics().num_alloc_retries), retries);
}

TEST_F(Growing, WhatFailsIsOutOfMemoryWithEveryIdlePageGivenBack) {
  static_cast<void>(holes({500, 300, 2, 200, 2}));

  EXPECT_EQ(allocate(600 * kMiB).status.result, Result::out_of_memory);

  EXPECT_EQ(reserved(), 504 * kMiB);
  EXPECT_EQ(statistics().num_ooms, 1);
}

TEST_F(Growing, NothingMovesDuringACapture) {
  static_cast<void>(holes({2, 40, 2, 40, 2}));
  const std::size_t pages = backend_.mapped_pages();
  backend_.set_may_wait(false);

  EXPECT_TRUE(allocate(80 * kMiB).status.ok());

  EXPECT_EQ(backend_.mapped_pages(), pages);
  EXPECT_EQ(statistics().segment.all.current, 1);
  backend_.set_may_wait(true);
}

TEST_F(Growing, PagesThatStayAreNoReasonToFail) {
  static_cast<void>(holes({2, 40, 2, 40, 2}));
  backend_.fail_unmap({Result::failed, 9});

  EXPECT_TRUE(allocate(80 * kMiB).status.ok());

  EXPECT_EQ(reserved(), 166 * kMiB);
  backend_.fail_unmap({});
}

TEST_F(Growing, APlaceMayEndWhileItsPagesMove) {
  static_cast<void>(holes({2, 40, 2, 40, 2}));
  backend_.on_map([&, is_first = true](Place where, Address) mutable {
    if (!std::exchange(is_first, false)) return;
    allocator_.forget_place(where);
    backend_.set_has_pages(false);
  });

  static_cast<void>(allocate(80 * kMiB));

  EXPECT_EQ(backend_.mapped_pages(), 0u);
  EXPECT_EQ(backend_.reserved_ranges(), 0u);
}

TEST_F(Growing, AShareOfTheDeviceIsComparedWithWhatIsNeeded) {
  Limits limits = kGrowing;
  limits.memory_fraction = 0.5;
  allocator_.set_limits(limits);
  static_cast<void>(address_of(504 * kMiB));

  EXPECT_TRUE(allocate(7 * kMiB).status.ok());  // PyTorch would need 20 MiB for it

  EXPECT_EQ(allocate(2 * kMiB).status.result, Result::out_of_memory);
}

TEST_F(Growing, PagesOfTwentyMiBServeWhereTheSettingWasAnother) {
  Limits other = kGrowing;
  std::swap(other.growing_segments, other.expandable_segments);
  allocator_.set_limits(other);
  const Address block = address_of(30 * kMiB);
  allocator_.set_limits(kGrowing);
  ASSERT_EQ(free(block), Result::ok);

  EXPECT_EQ(address_of(50 * kMiB), block);

  EXPECT_EQ(reserved(), 60 * kMiB);
}

class GrowingInHalves : public Growing {
 protected:
  GrowingInHalves() : Growing(kGrowing, std::uint64_t{8} << 30) {}
};

TEST_F(GrowingInHalves, ARefusedReservationIsHalvedDownToOneGiB) {
  backend_.set_longest_range(std::uint64_t{3} << 30);
  static_cast<void>(address_of(30 * kMiB));
  EXPECT_EQ(statistics().segment.all.allocated, 0);

  static_cast<void>(address_of(2900 * kMiB));  // more than the range of 2.25 GiB: a plain one
  EXPECT_EQ(statistics().segment.all.allocated, 1);
  EXPECT_EQ(backend_.reserved_ranges(), 1u);

  backend_.set_longest_range(std::uint64_t{1} << 29);
  static_cast<void>(address_of(1000));  // of the other pool
  EXPECT_EQ(backend_.reserved_ranges(), 1u);
  EXPECT_EQ(statistics().segment.all.allocated, 2);
}

class GrowingAtReuse : public Growing {
 protected:
  GrowingAtReuse()
      : Growing({.exact_fallback = false, .growing_segments = true, .reuse = ReuseTime::at_reuse}) {
  }
};

TEST_F(GrowingAtReuse, WhatMayRunInAPageIsWaitedForBeforeItMoves) {
  static_cast<void>(holes({2, 40, 2, 40, 2}));
  const std::uint64_t before = backend_.waits();

  static_cast<void>(address_of(80 * kMiB));

  EXPECT_EQ(backend_.waits(), before + 1);
  EXPECT_EQ(reserved(), 88 * kMiB);
}

TEST_F(GrowingAtReuse, WhatIsNotProvedStays) {
  static_cast<void>(holes({2, 40, 2, 40, 2}));
  backend_.on_wait([&](Place) { device_.set_sticky(700); });

  static_cast<void>(allocate(80 * kMiB));

  EXPECT_EQ(allocator_.idle_bytes(0), 80 * kMiB);
  device_.set_sticky(0);
}

// Random requests and frees: no two blocks share a byte, all live bytes lie on pages, and more is
// reserved than was ever live, and a thirty-second of it, only where no page lies idle.
class GrowingRandom : public Growing, public testing::WithParamInterface<unsigned> {
 protected:
  void take() {
    const std::uint64_t bytes = 1 + random_() % (std::uint64_t{1} << (8 + random_() % 18));
    const std::uint64_t before = reserved_or_none();
    const Outcome out = allocate(bytes);
    ASSERT_TRUE(out.status.ok());
    const auto above = live_.lower_bound(out.address);
    ASSERT_TRUE(above == live_.end() || above->first >= out.address + out.rounded);
    if (above != live_.begin()) {
      ASSERT_LE(std::prev(above)->second, out.address);
    }
    live_[out.address] = out.address + out.rounded;
    held_ += out.rounded;
    most_ = std::max(most_, held_);
    ASSERT_EQ(backend_.mapped_pages() * kPage, reserved());
    if (reserved() > before && reserved() > most_ + most_ / 32) {
      // A page may be made of what the request left on its last one.
      ASSERT_LE(allocator_.idle_bytes(0), kPage);
    }
  }

  void give() {
    auto it = live_.begin();
    std::advance(it, static_cast<long>(random_() % live_.size()));
    ASSERT_EQ(free(it->first), Result::ok);
    held_ -= it->second - it->first;
    live_.erase(it);
  }

  std::uint64_t reserved_or_none() { return live_.empty() && most_ == 0 ? 0 : reserved(); }

  std::mt19937 random_{GetParam()};
  std::map<Address, Address> live_;  // ends
  std::uint64_t held_ = 0, most_ = 0;
};

TEST_P(GrowingRandom, NoPageLiesIdleWhereMoreIsReserved) {
  for (int i = 0; i < 1500; ++i) {
    const bool gives = !live_.empty() && (random_() % 100 < 48 || held_ > 700 * kMiB);
    gives ? give() : take();
    if (HasFatalFailure()) FAIL() << "step " << i;
    if (i % 10 == 0) {
      ASSERT_EQ(allocator_.check_invariants(), "") << "step " << i;
    }
  }
  EXPECT_GT(statistics().num_device_free, 0);
}
INSTANTIATE_TEST_SUITE_P(Seeds, GrowingRandom, testing::Range(1U, 9U));

}  // namespace growing_test
}  // namespace vramscope::test
