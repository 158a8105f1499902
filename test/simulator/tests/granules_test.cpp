// The driver's own footprint: chunks for small allocations, granules for large ones.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/trial/granules.h"

#include <gtest/gtest.h>

#include <vector>

namespace vramscope::simulator {
namespace {

constexpr std::uint64_t kKiB = std::uint64_t{1} << 10;
constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr Address kBase = 64 * kGranule;
constexpr std::uint64_t kCapacity = 1024 * kMiB;

// Bytes a block of 256 equal cudaMalloc, by cudaMemGetInfo on a driver 5xx: the comment in
// JustVugg/colibri, c/qwen38_tier.c.
struct Measured {
  std::uint64_t bytes;
  std::uint64_t each;
};
constexpr Measured kMeasured[] = {{400, 8 * kKiB},           {3 * kKiB, 8 * kKiB},
                                  {4 * kKiB, 8 * kKiB},      {10 * kKiB, 16 * kKiB},
                                  {16 * kKiB, 16 * kKiB},    {64 * kKiB, 64 * kKiB},
                                  {96 * kKiB, 104 * kKiB},   {384 * kKiB, 416 * kKiB},
                                  {768 * kKiB, 1024 * kKiB}, {kMiB, kMiB},
                                  {3 * kMiB / 2, 2 * kMiB},  {3 * kMiB, 4 * kMiB}};

TEST(Granules, TakesWhatARealDriverWasSeenToTake) {
  for (const auto& [bytes, each] : kMeasured) {
    constexpr int kBlocks = 256;
    Granules granules(kBase, kCapacity);

    for (int i = 0; i < kBlocks; ++i) ASSERT_TRUE(granules.take(bytes));

    EXPECT_EQ(granules.used_bytes(), kBlocks * each) << bytes << " bytes";
  }
}

TEST(Granules, NoSmallAllocationLiesInTwoChunks) {
  Granules granules(kBase, kCapacity);

  for (int i = 0; i < 100; ++i) {
    const Address start = granules.take(700 * kKiB).value();
    EXPECT_EQ(start / kGranule, (start + 700 * kKiB - 1) / kGranule);
  }
}

// Holes of 4, 2 and 3 KiB, in this order of addresses; 2 KiB is asked for.
Address second_small(Fit fit, Address* holes) {
  Granules granules(kBase, kCapacity, {.small_fit = fit});
  const std::uint64_t sizes[] = {4 * kKiB, 2 * kKiB, 3 * kKiB};
  for (int i = 0; i < 3; ++i) {
    holes[i] = granules.take(sizes[i]).value();
    (void)granules.take(512);
  }
  for (int i = 0; i < 3; ++i) granules.give(holes[i], sizes[i]);
  return granules.take(2 * kKiB).value();
}

TEST(Granules, SmallOnesGoIntoTheFirstHoleOrTheBest) {
  Address holes[3] = {};

  EXPECT_EQ(second_small(Fit::first, holes), holes[0]);
  EXPECT_EQ(second_small(Fit::best, holes), holes[1]);
}

// What is used after three chunks have become empty.
std::uint64_t left_of_three(EmptyChunks empty) {
  Granules granules(kBase, kCapacity, {.empty_chunks = empty});
  std::vector<Address> all;
  for (int i = 0; i < 6; ++i) all.push_back(granules.take(kMiB).value());
  for (const Address start : all) granules.give(start, kMiB);
  return granules.used_bytes();
}

TEST(Granules, EmptyChunksGoBackOrOneStaysOrAllDo) {
  EXPECT_EQ(left_of_three(EmptyChunks::given_back), 0u);
  EXPECT_EQ(left_of_three(EmptyChunks::one_kept), kGranule);
  EXPECT_EQ(left_of_three(EmptyChunks::kept), 3 * kGranule);
}

TEST(Granules, AKeptChunkServesSmallOnesOnlyAndEndsWithItsOwner) {
  Granules granules(kBase, 2 * kGranule, {.empty_chunks = EmptyChunks::one_kept});
  const Address small = granules.take(512, 1).value();
  granules.give(small, 512);

  EXPECT_FALSE(granules.take(3 * kMiB, 1));
  EXPECT_EQ(granules.take(512, 1), small);
  granules.give(small, 512);
  granules.end(1);

  EXPECT_EQ(granules.used_bytes(), 0u);
  EXPECT_TRUE(granules.take(3 * kMiB, 1));
}

TEST(Granules, EachOwnerHasChunksOfHisOwn) {
  Granules granules(kBase, kCapacity);

  const Address first = granules.take(512, 1).value();
  const Address other = granules.take(512, 2).value();
  const Address second = granules.take(512, 1).value();

  EXPECT_NE(first / kGranule, other / kGranule);
  EXPECT_EQ(second, first + 512);
  EXPECT_EQ(granules.used_bytes(), 2 * kGranule);
}

// A driver has addresses enough that holes between allocations never look like exhaustion; with two
// for each byte the ninth of these was refused.
TEST(Granules, WhatFitsByBytesFitsByAddresses) {
  constexpr std::uint64_t kSmallDevice = 64 * kMiB;
  Granules granules(kBase, kSmallDevice);

  for (std::uint64_t bytes = 6 * kMiB; granules.used_bytes() + bytes + kGranule <= kSmallDevice;
       bytes += kGranule) {
    const auto start = granules.take(bytes);  // larger than every hole before
    ASSERT_TRUE(start) << bytes;
    ASSERT_TRUE(granules.take(kGranule));
    granules.give(*start, bytes);
  }
}

// Among the addresses of an H200's segments: 20, 20, 20 and 12 MiB, the last one behind the third,
// and 394, 394 and 20 MiB.
TEST(Granules, OfSlabsLieBelowEachOtherWithHolesFilled) {
  Granules granules(kBase, kCapacity, {.placement = Placement::slabs});
  std::vector<Address> starts;

  for (const std::uint64_t mib : {20, 20, 20, 12, 394, 394, 20}) {
    starts.push_back(granules.take(mib * kMiB).value());
  }

  EXPECT_EQ(starts[0] - starts[1], 32 * kMiB);
  EXPECT_EQ(starts[1] - starts[2], 32 * kMiB);
  EXPECT_EQ(starts[3], starts[2] + 20 * kMiB);
  EXPECT_EQ(starts[2] - starts[4], 416 * kMiB);
  EXPECT_EQ(starts[4] - starts[5], 416 * kMiB);
  EXPECT_EQ(starts[6], starts[5] + 394 * kMiB);
}

TEST(Granules, OfSlabsServeAsMuchAsTheDeviceHas) {
  Granules granules(kBase + kGranule, 48 * kMiB, {.placement = Placement::slabs});
  std::vector<Address> starts;

  for (int i = 0; i < 24; ++i) starts.push_back(granules.take(kGranule).value());

  EXPECT_FALSE(granules.take(kGranule));
  for (const Address start : starts) granules.give(start, kGranule);
  EXPECT_TRUE(granules.take(48 * kMiB));
}

}  // namespace
}  // namespace vramscope::simulator
