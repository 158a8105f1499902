// What is kept about the history in bounded memory: timelines, and when allocations were made.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "allocator/base/call_time.h"
#include "allocator/base/history.h"
#include "allocator/books/birth_times.h"
#include "allocator/books/ledger.h"
#include "allocator/books/timeline.h"

namespace vramscope {
namespace {

constexpr std::uint64_t kMs = std::uint64_t{1} << 20;

// Against a list of everything that happened.
TEST(History, IsWhatThereWasAtTheEndOfEachInterval) {
  std::mt19937_64 random(20261122);
  History history;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> all = {{0, 0}};
  std::uint64_t at = 0;
  for (int i = 0; i < 5000; ++i) {
    at += random() % (kMs * (i < 2500 ? 1 : 200));
    history.note(at, all.back().second);
    all.emplace_back(at, random() % 1000);

    const std::uint64_t width = history.interval();
    ASSERT_EQ(history.used, at / width);
    ASSERT_LE(history.used, History::kIntervals);
    ASSERT_TRUE(history.doublings == 0 || history.used >= History::kIntervals / 2) << at;
    for (std::size_t k = 0; k < history.used; ++k) {
      const auto after = std::upper_bound(
          all.begin(), all.end(), (k + 1) * width - 1,
          [](std::uint64_t end, const auto& change) { return end < change.first; });
      ASSERT_EQ(history.last[k], std::prev(after)->second) << k << " of " << history.used;
    }
  }
}

TEST(History, HasTheSameIntervalsForAllThatLookAtTheSameTime) {
  History often, once;
  for (std::uint64_t at = 0; at < 1000 * kMs; at += 3 * kMs) often.note(at, 7);
  often.note(1000 * kMs, 7);
  once.note(1000 * kMs, 0);

  EXPECT_EQ(often.used, once.used);
  EXPECT_EQ(often.interval(), once.interval());
}

constexpr std::uint64_t kWidth = std::uint64_t{1} << Timeline::kFirstWidthBits;

TEST(Timeline, KeepsTheHighestAndTheLastOfEachBucket) {
  Timeline timeline;
  timeline.note(0, 0, 10);
  timeline.note(5, 10, 3);
  timeline.note(2 * kWidth, 3, 7);

  ASSERT_EQ(timeline.size(), 3U);
  EXPECT_EQ(timeline[0].highest, 10U);
  EXPECT_EQ(timeline[0].last, 3U);
  EXPECT_EQ(timeline[1].highest, 3U);  // nothing happened: what there was
  EXPECT_EQ(timeline[2].highest, 7U);
}

TEST(Timeline, TheHighestOfABucketIncludesItsBeginning) {
  Timeline timeline;
  timeline.note(0, 0, 10);
  timeline.note(kWidth + 1, 10, 2);

  EXPECT_EQ(timeline[1].highest, 10U);
  EXPECT_EQ(timeline[1].last, 2U);
}

// Against a list of everything that happened.
TEST(Timeline, LosesNoPeakWhenItsBucketsGrow) {
  std::mt19937_64 random(20261121);
  Timeline timeline;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> all;
  std::uint64_t at = 0;
  std::uint64_t value = 0;
  for (int i = 0; i < 20000; ++i) {
    at += random() % (kMs * 20);
    const std::uint64_t next = random() % 1000;
    timeline.note(at, value, next);
    all.emplace_back(at, next);
    value = next;
  }

  ASSERT_LE(timeline.size(), Timeline::kBuckets);
  EXPECT_GT(timeline.size(), Timeline::kBuckets / 2 - 1);
  std::size_t next = 0;
  std::uint64_t current = 0;
  for (std::size_t i = 0; i < timeline.size(); ++i) {
    std::uint64_t highest = current;
    for (; next < all.size() && all[next].first / timeline.bucket_ns() == i; ++next) {
      highest = std::max(highest, all[next].second);
      current = all[next].second;
    }
    ASSERT_EQ(timeline[i].highest, highest) << i;
    ASSERT_EQ(timeline[i].last, current) << i;
  }
}

TEST(BirthTimes, KnowsTheLastAllocationsExactly) {
  BirthTimes birth_times;
  for (std::uint64_t serial = 1; serial <= 5000; ++serial) birth_times.note(serial, serial * 10);

  for (std::uint64_t serial = 4000; serial <= 5000; ++serial) {
    EXPECT_EQ(birth_times.time_of(serial), serial * 10);
  }
}

TEST(BirthTimes, IsOffByLittleForOldAllocationsAndNeverTooLate) {
  constexpr std::uint64_t kNewest = 3'000'000;
  BirthTimes birth_times;
  for (std::uint64_t serial = 1; serial <= kNewest; ++serial) birth_times.note(serial, serial * 10);

  for (std::uint64_t serial = 1; serial <= kNewest; serial += 997) {
    const std::uint64_t told = birth_times.time_of(serial);
    const std::uint64_t age = (kNewest - serial) * 10;
    ASSERT_LE(told, serial * 10);
    ASSERT_LE(serial * 10 - told, age / 100 + 10) << serial;
  }
}

constexpr Place kDevice{.kind = Kind::device};

TEST(Ledger, AGroupHasAPeakOfItsOwn) {
  Ledger ledger;
  ledger.join(1, {1, 2});
  ledger.join(2, {1, 3});
  ledger.count_allocation(kDevice, 1, 100);
  ledger.count_free(kDevice, 1, 100);
  ledger.count_allocation(kDevice, 2, 70);
  ledger.count_allocation(kDevice, 1, 20);

  Snapshot snapshot;
  ledger.describe(snapshot);

  EXPECT_EQ(snapshot.group_peaks.at(1), 100U);
  EXPECT_EQ(snapshot.group_peaks.at(2), 100U);
  EXPECT_EQ(snapshot.group_peaks.at(3), 70U);
}

TEST(Ledger, AResetOfPeaksKeepsWhatIsLive) {
  Ledger ledger;
  ledger.join(1, {1});
  ledger.count_allocation(kDevice, 1, 100);
  ledger.count_free(kDevice, 1, 100);
  ledger.count_allocation(kDevice, 1, 30);
  ledger.reset_peak(Kind::device, 0);

  Snapshot snapshot;
  ledger.describe(snapshot);

  EXPECT_EQ(snapshot.group_peaks.at(1), 30U);
}

TEST(Ledger, PutsLifetimesIntoDecades) {
  Ledger ledger;
  ASSERT_TRUE(ledger.prepare(1));
  const std::vector<std::uint64_t> lifetimes = {
      0,           999,           1'000,          9'999,           10'000,
      999'999'999, 1'000'000'000, 99'999'999'999, 100'000'000'000, ~std::uint64_t{0} >> 1};
  for (const std::uint64_t ns : lifetimes) {
    call_time_ns = ~std::uint64_t{0} >> 1;
    ledger.count_lifetime(1, call_time_ns - ns);
  }
  call_time_ns = 0;
  ledger.count_allocation(kDevice, 1, 1);

  Snapshot snapshot;
  ledger.describe(snapshot);

  EXPECT_EQ(snapshot.tags.at(1).lifetimes, (Lifetimes{2, 2, 1, 0, 0, 0, 1, 1, 1, 2}));
}

// However long the program waits between them: by time, the same leak once grew in one run alone.
TEST(Ledger, KnowsWhatEachTagHeldAtTheEndOfEachIntervalOfAllocations) {
  static_assert(std::uint64_t{1} << History::kFirstWidthBits == 4);
  for (const std::uint64_t wait_ns : {1ULL, 1'000'000'000ULL}) {
    Ledger ledger;
    ASSERT_TRUE(ledger.prepare(2));
    ledger.join(1, {1});
    ledger.join(2, {2});
    for (std::uint64_t i = 0; i < 20; ++i) {  // a tag grows, of the other all is freed in the end
      call_time_ns = 1000 + i * i * wait_ns;
      ledger.count_allocation(kDevice, i % 2 == 0 ? 1 : 2, 10);
      if (i == 7) ledger.count_free(kDevice, 2, 40);  // after the interval's end
    }
    call_time_ns = 1000 + 10'000 * wait_ns;  // nothing happens any more

    Snapshot snapshot;
    ledger.describe(snapshot);
    call_time_ns = 0;

    const auto history = [&](Tag tag) {
      const History& all = snapshot.tags.at(tag).history;
      return std::vector<std::uint64_t>(all.last.begin(), all.last.begin() + all.used);
    };
    EXPECT_EQ(history(1), (std::vector<std::uint64_t>{20, 40, 60, 80, 100}));
    EXPECT_EQ(history(2), (std::vector<std::uint64_t>{20, 40, 20, 40, 60}));
    EXPECT_EQ(snapshot.tags.at(0).history.used, 0U);
  }
}

TEST(Ledger, RemembersWhoMadeThePeakAndWhen) {
  Ledger ledger;
  ASSERT_TRUE(ledger.prepare(2));
  ledger.join(1, {});  // somebody asks for more than totals
  call_time_ns = 1000;
  ledger.count_allocation(kDevice, 1, 100);
  call_time_ns = 2000;
  ledger.count_allocation(kDevice, 2, 1);
  call_time_ns = 3000;
  ledger.count_free(kDevice, 2, 1);
  call_time_ns = 0;

  Snapshot snapshot;
  ledger.describe(snapshot);

  EXPECT_EQ(snapshot.kinds.at(0).peak_tag, 2U);
  EXPECT_EQ(snapshot.kinds.at(0).peak_ns, 2000U);
  EXPECT_EQ(snapshot.start_ns, 1000U);
  EXPECT_EQ(snapshot.taken_ns, 3000U);
}

}  // namespace
}  // namespace vramscope
