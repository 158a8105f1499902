// Which reports are due by themselves, and which of those that were written stay.
// SPDX-License-Identifier: Apache-2.0
#include "interpose/life/schedule.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "interpose/life/kept_reports.h"

namespace vramscope {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMs = 1'000'000;
constexpr std::uint64_t kMiB = 1 << 20;

std::string due(Schedule& schedule, std::uint64_t now_ns, std::uint64_t live = 0,
                std::uint64_t peak = 0) {
  DeviceUses use{};
  use[3] = {.live_bytes = live, .peak_bytes = peak};
  const char* const trigger = schedule.due(now_ns, use);
  return trigger == nullptr ? "" : trigger;
}

TEST(Schedule, AsksForNothingUnlessWished) {
  Schedule schedule({}, 5 * kMs);

  EXPECT_EQ(schedule.wait_ns(7 * kMs), Schedule::kForever);
  EXPECT_EQ(due(schedule, 1'000'000 * kMs, 1 << 30, 1 << 30), "");
}

TEST(Schedule, WishesChange) {
  Schedule schedule({.interval_ns = 50 * kMs}, 0);
  schedule.every(10 * kMs, 5 * kMs);
  EXPECT_EQ(schedule.wait_ns(5 * kMs), 10 * kMs);
  EXPECT_EQ(due(schedule, 15 * kMs), "interval");

  schedule.every(0, 16 * kMs);
  EXPECT_EQ(schedule.wait_ns(16 * kMs), Schedule::kForever);
  EXPECT_EQ(due(schedule, 1000 * kMs), "");

  schedule.on_growth(kMiB);
  EXPECT_EQ(due(schedule, 2000 * kMs, kMiB), "growth");
  schedule.on_growth(0);
  EXPECT_EQ(due(schedule, 3000 * kMs, 9 * kMiB), "");
}

TEST(Schedule, AsksOnceAnInterval) {
  Schedule schedule({.interval_ns = 50 * kMs}, 10 * kMs);

  EXPECT_EQ(schedule.wait_ns(10 * kMs), 50 * kMs);
  EXPECT_EQ(due(schedule, 59 * kMs), "");
  EXPECT_EQ(schedule.wait_ns(59 * kMs), kMs);
  EXPECT_EQ(due(schedule, 60 * kMs), "interval");
  EXPECT_EQ(due(schedule, 60 * kMs), "");
  EXPECT_EQ(schedule.wait_ns(60 * kMs), 50 * kMs);
}

TEST(Schedule, CatchesUpWithNothingThatWasMissed) {
  Schedule schedule({.interval_ns = 50 * kMs}, 0);

  EXPECT_EQ(due(schedule, 1020 * kMs), "interval");
  EXPECT_EQ(due(schedule, 1020 * kMs), "");
  EXPECT_EQ(schedule.wait_ns(1020 * kMs), 30 * kMs);
}

TEST(Schedule, AsksWhenMemoryHasGrownSinceItAskedLast) {
  Schedule schedule({.growth_bytes = 10 * kMiB}, 0);

  EXPECT_EQ(due(schedule, 0, 10 * kMiB - 1), "");
  EXPECT_EQ(due(schedule, 0, 13 * kMiB), "growth");
  EXPECT_EQ(due(schedule, 0, 13 * kMiB), "");
  EXPECT_EQ(due(schedule, 0, kMiB), "");
  EXPECT_EQ(due(schedule, 0, 23 * kMiB - 1), "");
  EXPECT_EQ(due(schedule, 0, 23 * kMiB), "growth");
}

TEST(Schedule, AsksAtAPeakFarEnoughAboveTheLast) {
  Schedule schedule({.peak_percent = 10}, 0);

  EXPECT_EQ(due(schedule, 0, 0, kMiB - 1), "");
  EXPECT_EQ(due(schedule, 0, 0, 100 * kMiB), "peak");
  EXPECT_EQ(due(schedule, 0, 0, 110 * kMiB - 1), "");
  EXPECT_EQ(due(schedule, 0, 0, 110 * kMiB), "peak");
  EXPECT_EQ(due(schedule, 0, 0, 110 * kMiB), "");
  EXPECT_EQ(due(schedule, 0, 0, 10 * kMiB), "");  // the program reset it
  EXPECT_EQ(due(schedule, 0, 0, 11 * kMiB), "peak");
}

TEST(Schedule, LooksAtMemoryTenTimesASecond) {
  Schedule schedule({.interval_ns = 250 * kMs, .growth_bytes = 1}, 0);

  EXPECT_EQ(due(schedule, 0), "");
  EXPECT_EQ(schedule.wait_ns(40 * kMs), 60 * kMs);
  EXPECT_EQ(due(schedule, 200 * kMs), "");
  EXPECT_EQ(schedule.wait_ns(200 * kMs), 50 * kMs);
}

TEST(Schedule, SaysWhatIsWantedUntilItAskedForIt) {
  Schedule schedule({.growth_bytes = 10 * kMiB, .peak_percent = 50}, 0);
  DeviceUses use{};
  EXPECT_FALSE(schedule.wants(use));

  use[3].peak_bytes = 4 * kMiB;
  EXPECT_TRUE(schedule.wants(use));
  EXPECT_EQ(due(schedule, 0, 0, 4 * kMiB), "peak");
  EXPECT_FALSE(schedule.wants(use));
  use[3].peak_bytes = 5 * kMiB;
  EXPECT_FALSE(schedule.wants(use));
  use[3].live_bytes = 10 * kMiB;
  EXPECT_TRUE(schedule.wants(use));
  EXPECT_EQ(due(schedule, 0, 10 * kMiB, 5 * kMiB), "growth");
  EXPECT_FALSE(schedule.wants(use));
}

TEST(Schedule, CountsFromWhatTheReportTells) {
  Schedule schedule({.growth_bytes = 10 * kMiB, .peak_percent = 50}, 0);
  EXPECT_EQ(due(schedule, 0, 0, 4 * kMiB), "peak");
  DeviceUses use{};
  use[3] = {.live_bytes = 15 * kMiB, .peak_bytes = 20 * kMiB};

  schedule.note_told("peak", use);

  EXPECT_EQ(due(schedule, 0, 0, 29 * kMiB), "");
  EXPECT_EQ(due(schedule, 0, 10 * kMiB, 29 * kMiB), "growth");
  schedule.note_told("growth", use);
  EXPECT_EQ(due(schedule, 0, 24 * kMiB, 29 * kMiB), "");
  EXPECT_EQ(due(schedule, 0, 25 * kMiB, 30 * kMiB), "growth");
  EXPECT_EQ(due(schedule, 0, 25 * kMiB, 30 * kMiB), "peak");
}

TEST(Schedule, AsksForEachThatIsDue) {
  Schedule schedule({.interval_ns = kMs, .growth_bytes = kMiB, .peak_percent = 10}, 0);

  std::set<std::string> asked;
  for (int i = 0; i < 3; ++i) asked.insert(due(schedule, kMs, 2 * kMiB, 2 * kMiB));

  EXPECT_EQ(asked, (std::set<std::string>{"growth", "interval", "peak"}));
  EXPECT_EQ(due(schedule, kMs, 2 * kMiB, 2 * kMiB), "");
  for (const std::string& trigger : asked) EXPECT_TRUE(Schedule::asks(trigger)) << trigger;
  for (const char* other : {"exit", "exec", "signal", "oom", ""})
    EXPECT_FALSE(Schedule::asks(other));
}

class KeptReportsTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "vramscope-kept-XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  void TearDown() override { fs::remove_all(folder_); }
  OwnReport write(const std::string& name) {
    const std::string path = (folder_ / name).string();
    std::ofstream(path) << name;
    struct stat found {};
    EXPECT_EQ(stat(path.c_str(), &found), 0);
    return {path, {found.st_dev, found.st_ino}};
  }
  std::set<std::string> names() const {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_)) names.insert(entry.path().filename());
    return names;
  }
  fs::path folder_;
};

TEST_F(KeptReportsTest, RemovesTheOldestOfTooMany) {
  KeptReports kept(2);

  for (const char* name : {"a", "b", "c", "d"}) kept.add(write(name));

  EXPECT_EQ(names(), (std::set<std::string>{"c", "d"}));
}

TEST_F(KeptReportsTest, LeavesWhatHasTheNameByNow) {
  KeptReports kept(1);
  kept.add(write("a"));
  write("other");
  fs::rename(folder_ / "other", folder_ / "a");
  kept.add(write("b"));
  fs::remove(folder_ / "b");
  fs::create_symlink("a", folder_ / "b");
  kept.add(write("c"));

  EXPECT_EQ(names(), (std::set<std::string>{"a", "b", "c"}));
}

}  // namespace
}  // namespace vramscope
