// Samples of stacks: chosen by bytes, their totals told for all calls without bias.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/record/sampling.h"

#include <gnu/libc-version.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "reporter/record/recorder.h"
#include "reporter/report/assemble.h"
#include "reporter/report/parts.h"
#include "reporter/report/report.h"

namespace vramscope {
namespace {

constexpr std::uint64_t kEvery = 1 << 16;
constexpr Place kDevice{.kind = Kind::device, .device = 0, .context = 0};

TEST(Sampling, TakesEachRequestThatIsAsLargeAsTheDistance) {
  Chance chance(1);

  for (std::uint64_t bytes : {kEvery, kEvery + 1, kEvery * 1000, ~std::uint64_t{0}}) {
    for (int i = 0; i < 100; ++i) EXPECT_TRUE(chance.takes(bytes, kEvery)) << bytes;
  }
}

TEST(Sampling, NeverTakesARequestOfNothing) {
  Chance chance(1);

  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(chance.takes(0, kEvery));
}

// The sums over the samples of a class, divided by their probability, are right on average: here
// within five standard deviations.
TEST(Sampling, EstimatesAreUnbiasedForEachSizeClass) {
  constexpr int kRequests = 200'000;
  for (std::uint64_t base = 256; base <= kEvery; base *= 4) {
    Chance chance(base);
    std::uint64_t taken = 0, taken_bytes = 0, all_bytes = 0;
    for (int i = 0; i < kRequests; ++i) {
      const std::uint64_t bytes = base + static_cast<std::uint64_t>(i) % base;
      all_bytes += bytes;
      if (!chance.takes(bytes, kEvery)) continue;
      ++taken;
      taken_bytes += bytes;
    }

    const auto size_class = static_cast<std::uint8_t>(std::bit_width(base));
    const double chance_of_one = static_cast<double>(base) / static_cast<double>(kEvery);
    const double deviation = std::sqrt((1 - chance_of_one) / chance_of_one / kRequests);
    const auto near = [&](std::uint64_t estimated, double truth) {
      EXPECT_LE(std::abs(static_cast<double>(estimated) / truth - 1), 5.5 * deviation) << base;
    };
    near(estimate(taken, size_class, kEvery), kRequests);
    near(estimate(taken_bytes, size_class, kEvery), static_cast<double>(all_bytes));
  }
}

TEST(Sampling, EstimatesOfWhatIsAlwaysTakenAreExact) {
  EXPECT_EQ(estimate(12345, 17, kEvery), 12345U);
  EXPECT_EQ(estimate(12345, 64, kEvery), 12345U);
  EXPECT_EQ(estimate(12345, 16, kEvery), 24690U);
  EXPECT_EQ(estimate(1, 1, 1000), 1000U);
  EXPECT_EQ(estimate(~std::uint64_t{0}, 1, 1000), ~std::uint64_t{0});
}

TEST(Sampling, ThreadsChooseByThemselves) {
  int taken = 0;
  for (int i = 0; i < 10'000; ++i) taken += choose(kEvery / 2, kEvery) == Sampling::taken ? 1 : 0;

  EXPECT_GT(taken, 4000);
  EXPECT_LT(taken, 6000);
  EXPECT_EQ(choose(kEvery, kEvery), Sampling::taken);
}

Stack stack_at(const void* address) {
  Stack stack;
  stack.frames[0] = reinterpret_cast<std::uintptr_t>(address) + 1;
  stack.depth = 1;
  return stack;
}

TEST(Sampling, CallsThatAreLeftOutKeepTheirOwnerAndShareOneSite) {
  static const char in_program = 0;
  Recorder recorder(1);
  const Stack stack = stack_at(&in_program);
  const Origin taken{.place = kDevice, .sampling = Sampling::taken};
  const Origin left_out{.place = kDevice, .sampling = Sampling::left_out};
  const Tag a = recorder.intern(stack, taken);
  const Tag b = recorder.intern(stack, left_out);

  const RecorderFacts facts = recorder.facts();

  const TagFact& known = facts.tags.at(a);
  const TagFact& rest = facts.tags.at(b);
  EXPECT_EQ(rest.site, kLeftOutSite);
  EXPECT_NE(known.site, kLeftOutSite);
  EXPECT_EQ(known.values[static_cast<std::size_t>(Axis::owner)],
            rest.values[static_cast<std::size_t>(Axis::owner)]);
  EXPECT_TRUE(facts.sites.at(kLeftOutSite).frames.empty());
  EXPECT_EQ(recorder.intern(stack, left_out), b);
}

TEST(Sampling, OnlyTheOwnersOwnCodeTellsWhoseACallIsThatIsLeftOut) {
  static const char in_program = 0;
  const auto in_c_library = reinterpret_cast<std::uintptr_t>(&gnu_get_libc_version) + 1;
  const std::array<std::uintptr_t, 2> own{0, reinterpret_cast<std::uintptr_t>(&in_program) + 1};
  const std::array<std::uintptr_t, 2> passing_on{0, in_c_library};
  const Origin left_out{.place = kDevice, .sampling = Sampling::left_out};
  Recorder recorder(1);
  const Tag tag = recorder.intern(stack_at(&in_program), left_out);

  recorder.know(left_out, own[1], tag);
  recorder.know(left_out, passing_on[1], tag);

  EXPECT_EQ(recorder.known(left_out, own.data()).tag, tag);
  EXPECT_EQ(recorder.known(left_out, passing_on.data()).tag, 0U);
}

// A taken tag of a known class, the rest of its class left out, and one that is always taken.
ReportParts sampled_parts() {
  ReportParts parts;
  parts.sample_bytes = 4096;
  AxisValues small{}, large{};
  small[static_cast<std::size_t>(Axis::size_class)] = 11;  // 1024 and more: one in four
  large[static_cast<std::size_t>(Axis::size_class)] = 21;
  parts.recorder.frames = {{kNoModule, 1}, {kNoModule, 2}};
  parts.recorder.sites = {{}, {}, {{0}}, {{1}}};
  parts.recorder.owners = {"program"};
  parts.recorder.tags = {{},
                         {2, kDevice, small, {}, 700, 0, Sampling::taken},
                         {kLeftOutSite, kDevice, small, {}, 2100, 0, Sampling::left_out},
                         {3, kDevice, large, {}, 50, 0, Sampling::taken}};
  const auto totals = [](std::uint64_t bytes, std::uint64_t count) {
    return TagTotals{.live_bytes = bytes,
                     .live_count = count,
                     .peak_bytes = bytes,
                     .peak_count = count,
                     .total_bytes = 2 * bytes,
                     .total_count = 2 * count};
  };
  parts.memory.tags = {{}, totals(1100, 1), totals(3000, 2), totals(1 << 20, 1)};
  return parts;
}

TEST(Sampling, ReportsKeepExactCountsBesideEstimates) {
  const Report report = assemble(sampled_parts());

  ASSERT_EQ(report.sites.size(), 3U);
  const Site& large = report.sites[0];
  const Site& rest = report.sites[1];
  const Site& small = report.sites[2];
  EXPECT_EQ(report.sample_bytes, 4096U);
  EXPECT_EQ(large.estimate->live_bytes, std::uint64_t{1} << 20);
  EXPECT_EQ(small.totals.live_bytes, 1100U);
  EXPECT_EQ(small.estimate->live_bytes, 4400U);
  EXPECT_EQ(small.estimate->total_count, 8U);
  EXPECT_EQ(small.estimate->total_ns, 2800U);
  EXPECT_EQ(small.parts.at(0).estimate->peak_bytes, 4400U);
  EXPECT_TRUE(rest.is_left_out);
  EXPECT_EQ(rest.totals.live_bytes, 3000U);
  EXPECT_EQ(rest.estimate->live_bytes, 0U);
}

TEST(Sampling, WithoutItThereAreNoEstimates) {
  ReportParts parts = sampled_parts();
  parts.sample_bytes = 0;

  for (const Site& site : assemble(parts).sites) {
    EXPECT_FALSE(site.estimate);
    EXPECT_FALSE(site.is_left_out);
  }
}

}  // namespace
}  // namespace vramscope
