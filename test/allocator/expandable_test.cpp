// Segments that grow: pages come and go inside reservations, and everything that can refuse does.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <map>
#include <random>
#include <utility>

#include "test/allocator/allocator_fixture.h"

namespace vramscope::test {
namespace {

constexpr std::uint64_t kPage = 20 * kMiB;  // of the large pool
constexpr Limits kGrowing{.exact_fallback = false, .growing_segments = true};
constexpr Limits kExpandable{.exact_fallback = false, .expandable_segments = true};

class Expandable : public AllocatorFixture {
 protected:
  explicit Expandable(Limits limits = kExpandable) : AllocatorFixture(1024 * kMiB, limits) {}
  ~Expandable() override { EXPECT_EQ(backend_.misuses(), 0u); }

  std::int64_t reserved() const { return statistics().reserved_bytes.all.current; }
  static std::int64_t mib(std::int64_t count) { return count * static_cast<std::int64_t>(kMiB); }
};

TEST_F(Expandable, PagesCountAsReservedBytesAndAreNoSegments) {
  static_cast<void>(address_of(1000));
  static_cast<void>(address_of(30 * kMiB));

  const DeviceStatistics now = statistics();
  EXPECT_EQ(now.segment.all.allocated, 0);
  EXPECT_EQ(now.num_device_alloc, 2);
  EXPECT_EQ(now.reserved_bytes.small_pool.current, mib(2));
  EXPECT_EQ(now.reserved_bytes.large_pool.current, mib(40));
  EXPECT_EQ(now.inactive_split.all.current, 0);
  const Snapshot snapshot = allocator_.snapshot();
  ASSERT_EQ(snapshot.segments.size(), 2u);
  EXPECT_TRUE(snapshot.segments[1].is_expandable);
  EXPECT_EQ(snapshot.segments[1].total_size, 2 * kPage);
  EXPECT_EQ(snapshot.segments[1].block_count, 2u);
}

TEST_F(Expandable, ABlockGrowsInPlaceWhereAPlainSegmentWouldBeAddedBesides) {
  const Address first = address_of(15 * kMiB);
  ASSERT_EQ(free(first), Result::ok);

  EXPECT_EQ(address_of(70 * kMiB), first);
  EXPECT_EQ(reserved(), mib(80));
}

TEST_F(Expandable, SmallBlocksMergeBeyondASmallSegment) {
  std::array<Address, 20> blocks{};
  for (Address& block : blocks) block = address_of(512 * kKiB);
  for (const Address block : blocks) ASSERT_EQ(free(block), Result::ok);

  EXPECT_EQ(address_of(512 * kKiB), blocks[0]);
  EXPECT_EQ(address_of(kMiB), blocks[1]);

  EXPECT_EQ(reserved(), mib(10));
  ASSERT_EQ(allocator_.snapshot().segments.size(), 1u);
}

TEST_F(Expandable, OnlyWholePagesGoBack) {
  const Address first = address_of(5 * kMiB);
  const Address hole = address_of(50 * kMiB);
  static_cast<void>(address_of(10 * kMiB));
  ASSERT_EQ(free(hole), Result::ok);
  EXPECT_EQ(allocator_.idle_bytes(0), kPage);  // 5 to 55 MiB, of which 20 to 40 are a page

  allocator_.trim();

  EXPECT_EQ(reserved(), mib(60));
  EXPECT_EQ(statistics().num_device_free, 1);
  EXPECT_EQ(allocator_.idle_bytes(0), 0u);
  const Snapshot snapshot = allocator_.snapshot();
  ASSERT_EQ(snapshot.segments.size(), 2u);
  EXPECT_EQ(snapshot.segments[0].total_size, kPage);
  EXPECT_EQ(snapshot.segments[1].address, first + 2 * kPage);
  const Found between = allocator_.find(first + 30 * kMiB);
  EXPECT_TRUE(between.owned);
  EXPECT_FALSE(between.live);
  EXPECT_EQ(address_of(50 * kMiB), hole);
}

TEST_F(Expandable, AReservationThatIsEmptyEnds) {
  ASSERT_EQ(free(address_of(30 * kMiB)), Result::ok);
  EXPECT_EQ(backend_.reserved_ranges(), 1u);

  allocator_.trim();

  EXPECT_EQ(backend_.reserved_ranges(), 0u);
  EXPECT_EQ(backend_.mapped_pages(), 0u);
  EXPECT_EQ(device_.counters().live_bytes, 0u);
  EXPECT_TRUE(allocator_.snapshot().segments.empty());
}

TEST_F(Expandable, WithoutPagesSegmentsArePlain) {
  backend_.set_has_pages(false);

  const Outcome out = allocate(30 * kMiB);

  EXPECT_TRUE(out.status.ok());
  EXPECT_EQ(statistics().segment.all.current, 1);
  EXPECT_FALSE(allocator_.snapshot().segments[0].is_expandable);
}

TEST_F(Expandable, ARefusedMappingChangesNothingAndASegmentServes) {
  const Address first = address_of(15 * kMiB);
  ASSERT_EQ(free(first), Result::ok);
  backend_.fail_map({Result::failed, 999});

  const Outcome out = allocate(70 * kMiB);

  EXPECT_TRUE(out.status.ok());
  EXPECT_EQ(statistics().segment.all.current, 1);
  EXPECT_EQ(reserved(), mib(90));
  backend_.fail_map({});
  EXPECT_EQ(address_of(15 * kMiB), first);
}

TEST_F(Expandable, NothingIsMappedOrUnmappedDuringACapture) {
  const Address block = address_of(30 * kMiB);
  ASSERT_EQ(free(block), Result::ok);
  backend_.set_may_wait(false);

  EXPECT_TRUE(allocate(70 * kMiB).status.ok());
  allocator_.trim();

  EXPECT_EQ(statistics().segment.all.current, 1);
  EXPECT_EQ(statistics().num_device_free, 0);
  EXPECT_EQ(backend_.mapped_pages(), 2u);
}

TEST_F(Expandable, APageThatIsKeptIsAFreeBlockStill) {
  const Address block = address_of(30 * kMiB);
  ASSERT_EQ(free(block), Result::ok);
  backend_.fail_unmap({Result::failed, 999});

  allocator_.trim();

  EXPECT_EQ(reserved(), mib(40));
  EXPECT_EQ(statistics().num_device_free, 0);
  EXPECT_EQ(address_of(30 * kMiB), block);
}

TEST_F(Expandable, MemoryGoesBackWhenItsPlaceEnds) {
  static_cast<void>(address_of(1000, 1));
  static_cast<void>(address_of(30 * kMiB, 1));
  const Address other = address_of(30 * kMiB, 2, kOtherContext);

  allocator_.forget_place(kDevice0);

  EXPECT_EQ(backend_.mapped_pages(), 2u);
  EXPECT_EQ(backend_.reserved_ranges(), 1u);
  EXPECT_EQ(reserved(), mib(40));
  EXPECT_EQ(statistics().num_device_free, 0);
  EXPECT_EQ(tag(1).live_bytes, 0u);
  EXPECT_TRUE(allocator_.find(other).live);
}

TEST_F(Expandable, APlaceMayEndWhileItsPagesAreMapped) {
  static_cast<void>(address_of(30 * kMiB, 1));
  backend_.on_map([&, is_first = true](Place where, Address) mutable {
    if (!std::exchange(is_first, false)) return;
    allocator_.forget_place(where);
    backend_.set_has_pages(false);
  });

  static_cast<void>(allocate(70 * kMiB, 2));

  EXPECT_EQ(backend_.mapped_pages(), 0u);
  EXPECT_EQ(backend_.reserved_ranges(), 0u);
  EXPECT_EQ(tag(1).live_bytes, 0u);
}

TEST_F(Expandable, APlaceMayEndWhileItsPagesAreUnmapped) {
  static_cast<void>(address_of(30 * kMiB, 1));
  ASSERT_EQ(free(address_of(100 * kMiB)), Result::ok);
  backend_.on_map([&, is_first = true](Place where, Address) mutable {
    if (!std::exchange(is_first, false)) return;
    allocator_.forget_place(where);
  });

  allocator_.trim();

  EXPECT_EQ(backend_.mapped_pages(), 0u);
  EXPECT_EQ(backend_.reserved_ranges(), 0u);
  EXPECT_EQ(reserved(), 0);
}

// What others do between the sections of a mapping is done here from its hook, without a thread.
TEST_F(Expandable, OthersGetOtherMemoryWhileABlockGrows) {
  const Address first = address_of(5 * kMiB);
  const Address second = address_of(12 * kMiB);
  ASSERT_EQ(free(second), Result::ok);  // with the rest of the page it grows
  Address meanwhile = 0;
  backend_.on_map([&, is_first = true](Place, Address) mutable {
    if (!std::exchange(is_first, false)) return;
    meanwhile = address_of(12 * kMiB);
    EXPECT_EQ(free(first), Result::ok);
    EXPECT_EQ(allocator_.check_invariants(), "");
  });

  const Address grown = address_of(70 * kMiB);

  EXPECT_NE(meanwhile, 0u);
  EXPECT_TRUE(meanwhile >= grown + 70 * kMiB || meanwhile + 12 * kMiB <= grown);
  EXPECT_EQ(free(grown), Result::ok);
  EXPECT_EQ(free(meanwhile), Result::ok);
  allocator_.trim();
  EXPECT_EQ(device_.counters().live_bytes, 0u);
}

TEST_F(Expandable, PiecesThatWereMappedStayWhenALaterOneFails) {
  const Address low = address_of(20 * kMiB);
  const Address middle = address_of(20 * kMiB);
  const Address high = address_of(20 * kMiB);
  ASSERT_EQ(free(low), Result::ok);
  ASSERT_EQ(free(high), Result::ok);
  allocator_.trim();  // the first page and what follows the second are unbacked
  ASSERT_EQ(free(middle), Result::ok);
  device_.fail_call(2);

  EXPECT_EQ(allocate(60 * kMiB).status.result, Result::ok);  // in a second attempt

  EXPECT_EQ(statistics().num_alloc_retries, 1);
  EXPECT_EQ(backend_.mapped_pages(), 3u);
}

TEST_F(Expandable, APendingFreeMakesNoWholeReservationRecoverable) {
  const Address block = address_of(30 * kMiB);
  backend_.set_may_wait(false);
  ASSERT_EQ(free(block), Result::ok);

  EXPECT_EQ(allocator_.recoverable_bytes(0), 0u);
}

TEST_F(Expandable, WhatIsSwitchedOffServesNobodyAnyMore) {
  const Address block = address_of(30 * kMiB);
  ASSERT_EQ(free(block), Result::ok);
  allocator_.set_limits({.exact_fallback = false});

  EXPECT_NE(address_of(30 * kMiB), block);

  EXPECT_EQ(statistics().segment.all.current, 1);
  allocator_.set_limits(kExpandable);
  EXPECT_EQ(address_of(30 * kMiB), block);
}

TEST_F(Expandable, ABlockIsPartOfMoreSoOthersCannotBeGivenIt) {
  const Address block = address_of(40 * kMiB);

  const Found found = allocator_.note_export(block);

  EXPECT_TRUE(found.live);
  EXPECT_FALSE(found.dedicated);
  EXPECT_FALSE(found.exported);
}

TEST_F(Expandable, TheLimitIsComparedWithWhatAPlainSegmentTakes) {
  Limits limits = kExpandable;
  limits.memory_fraction = 0.04;  // 40.96 MiB
  allocator_.set_limits(limits);
  static_cast<void>(address_of(30 * kMiB));

  EXPECT_EQ(allocate(11 * kMiB).status.result, Result::out_of_memory);
  EXPECT_TRUE(allocate(9 * kMiB).status.ok());  // in the rest of the second page
}

class ExpandableInACapacity : public Expandable {};

TEST_F(ExpandableInACapacity, PagesCountAgainstIt) {
  allocator_.set_capacity(0, 50 * kMiB);
  static_cast<void>(address_of(30 * kMiB));

  const Outcome out = allocate(20 * kMiB);

  EXPECT_EQ(out.status.result, Result::out_of_memory);
  EXPECT_TRUE(out.by_limit);
  EXPECT_EQ(reserved(), mib(40));
}

class ExpandableExactly : public Expandable {
 protected:
  ExpandableExactly() : Expandable({.expandable_segments = true}) {}
};

TEST_F(ExpandableExactly, WhereNoPageIsLeftThePlainLeastIs) {
  static_cast<void>(address_of(1000 * kMiB));  // 24 MiB are left

  EXPECT_TRUE(allocate(22 * kMiB).status.ok());  // two pages would be 40 MiB
}

class ExpandableAtReuse : public Expandable {
 protected:
  ExpandableAtReuse()
      : Expandable(
            {.exact_fallback = false, .expandable_segments = true, .reuse = ReuseTime::at_reuse}) {}
};

TEST_F(ExpandableAtReuse, WhatMayRunInAPageIsWaitedForBeforeItIsUnmapped) {
  ASSERT_EQ(free(address_of(30 * kMiB)), Result::ok);
  const std::uint64_t before = backend_.waits();

  allocator_.trim();

  EXPECT_EQ(backend_.waits(), before + 1);
  EXPECT_EQ(backend_.mapped_pages(), 0u);
}

TEST_F(ExpandableAtReuse, ABlockThatGrewIsWaitedForToo) {
  const Address block = address_of(15 * kMiB);
  ASSERT_EQ(free(block), Result::ok);
  const std::uint64_t before = backend_.waits();

  EXPECT_EQ(address_of(70 * kMiB), block);

  EXPECT_EQ(backend_.waits(), before + 1);
}

TEST_F(ExpandableAtReuse, AnErrorKeepsThePages) {
  ASSERT_EQ(free(address_of(30 * kMiB)), Result::ok);
  backend_.fail_wait(700);

  allocator_.trim();

  EXPECT_EQ(backend_.mapped_pages(), 2u);
}

// Everything that can change is changed at random; the invariants recount it after each step.
class ExpandableRandom : public Expandable, public testing::WithParamInterface<unsigned> {
 protected:
  void step() {
    const std::uint64_t dice = random_() % 100;
    if (dice < 50) return take();
    if (dice < 90) return give();
    if (dice < 93) return allocator_.trim();
    if (dice < 95) return device_.fail_call(random_() % 4);
    if (dice < 96) return backend_.set_may_wait(random_() % 3 != 0);
    if (dice < 97) return backend_.fail_map(random_() % 2 ? Status{Result::failed, 999} : Status{});
    if (dice < 98) return backend_.fail_unmap(random_() % 2 ? Status{Result::failed, 9} : Status{});
    if (dice < 99) {
      const Limits settings[] = {kExpandable, kGrowing, Limits{}};
      return allocator_.set_limits(settings[random_() % 3]);
    }
    if (random_() % 3 == 0) live_.clear(), allocator_.forget_place(kDevice0);
  }

  void take() {
    const std::uint64_t bytes = 1 + random_() % (std::uint64_t{1} << (8 + random_() % 20));
    const Outcome out = allocate(bytes);
    if (!out.status.ok()) return;
    const auto above = live_.lower_bound(out.address);
    EXPECT_TRUE(above == live_.end() || above->first >= out.address + out.rounded);
    if (above != live_.begin()) {
      EXPECT_LE(std::prev(above)->second, out.address);
    }
    live_[out.address] = out.address + out.rounded;
  }

  void give() {
    if (live_.empty()) return;
    auto it = live_.begin();
    std::advance(it, static_cast<long>(random_() % live_.size()));
    if (free(it->first) == Result::ok) live_.erase(it);
  }

  std::mt19937 random_{GetParam()};
  std::map<Address, Address> live_;  // ends
};

TEST_P(ExpandableRandom, EveryCounterEqualsARecountAfterEachStep) {
  for (int i = 0; i < 1500; ++i) {
    step();
    ASSERT_EQ(allocator_.check_invariants(), "") << "step " << i;
  }
  backend_.set_may_wait(true);
  backend_.fail_unmap({});
  allocator_.forget_place(kDevice0);
  EXPECT_EQ(backend_.mapped_pages(), 0u);
  EXPECT_EQ(backend_.reserved_ranges(), 0u);
}
INSTANTIATE_TEST_SUITE_P(Seeds, ExpandableRandom, testing::Range(1U, 9U));

}  // namespace
}  // namespace vramscope::test
