// Which allocations that failed a report speaks of.
// SPDX-License-Identifier: Apache-2.0
#include "interpose/life/oom_log.h"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "interpose/life/kept_refusals.h"
#include "reporter/report/parts.h"

namespace vramscope {
namespace {

Refusal refusal_at(std::uint64_t ns) {
  Refusal refusal;
  refusal.event.start_ns = ns;
  refusal.event.bytes = ns;
  return refusal;
}

constexpr std::uint64_t kNobody = ~std::uint64_t{0};

// It once was the last of the report, by an unknown call stack.
TEST(OomLog, WhatIsRefusedWhileAReportIsMadeIsInTheNextOne) {
  std::atomic<std::uint64_t> wanted{kNobody};
  OomLog log(wanted);
  EXPECT_TRUE(log.note(refusal_at(10)));
  log.begin_report();
  EXPECT_TRUE(log.note(refusal_at(20)));
  log.describe({});
  const OomReport first = log.report({});
  EXPECT_EQ(first.count, 1U);
  ASSERT_EQ(first.events.size(), 1U);
  EXPECT_EQ(first.events[0].bytes, 10U);

  log.begin_report();
  log.describe({});
  const OomReport second = log.report({});
  EXPECT_EQ(second.count, 2U);
  ASSERT_EQ(second.events.size(), 2U);
  EXPECT_TRUE(second.events[1].has_details);
  EXPECT_EQ(second.events[1].bytes, 20U);
}

TEST(OomLog, TheLastOfAStormIsThatBeforeTheReport) {
  std::atomic<std::uint64_t> wanted{kNobody};
  OomLog log(wanted);
  for (std::uint64_t i = 1; i <= OomLog::kFirst + 4; ++i)
    static_cast<void>(log.note(refusal_at(i)));
  log.begin_report();
  static_cast<void>(log.note(refusal_at(100)));
  log.describe({});
  const OomReport report = log.report({});
  EXPECT_EQ(report.count, OomLog::kFirst + 4);
  ASSERT_EQ(report.events.size(), OomLog::kFirst + 1);
  EXPECT_EQ(report.events.back().number, OomLog::kFirst + 4);
  EXPECT_FALSE(report.events.back().has_details);
}

Event allocation(std::uint64_t ns, std::uint64_t bytes, std::uint16_t device = 0) {
  return {.place = {.kind = Kind::device, .device = device}, .bytes = bytes, .start_ns = ns};
}

TEST(OomLog, TellsWhenAsMuchWasServedAfterAll) {
  std::atomic<std::uint64_t> wanted{kNobody};
  OomLog log(wanted);
  for (const std::uint64_t bytes : {300, 100}) {
    static_cast<void>(log.note({.event = allocation(1000, bytes)}));
  }
  EXPECT_EQ(wanted, 100U);

  log.note_served(allocation(2000, 500, 1));  // of another device
  EXPECT_EQ(wanted, 100U);
  log.note_served(allocation(3000, 200));
  EXPECT_EQ(wanted, 300U);
  log.note_served(allocation(4000, 200));  // not the first

  log.begin_report();
  log.describe({});
  const OomReport report = log.report({});
  ASSERT_EQ(report.events.size(), 2U);
  EXPECT_TRUE(report.events[0].is_watched);
  EXPECT_EQ(report.events[0].served_ns, -1);
  EXPECT_EQ(report.events[1].served_ns, 3000);

  log.note_served(allocation(5000, 300));
  EXPECT_EQ(wanted, kNobody);
}

TEST(OomLog, OfAStormTheFirstOnesAndTheLastAreWatched) {
  std::atomic<std::uint64_t> wanted{kNobody};
  OomLog log(wanted);
  for (std::uint64_t i = 1; i <= 100; ++i) {
    static_cast<void>(log.note({.event = allocation(i, 1000 - i)}));
  }
  EXPECT_EQ(wanted, 900U);
  log.note_served(allocation(2000, 990));
  EXPECT_EQ(wanted, 991U);

  log.begin_report();
  log.describe({});
  const OomReport report = log.report({});
  ASSERT_EQ(report.events.size(), OomLog::kFirst + 1);
  EXPECT_EQ(report.events[0].served_ns, -1);  // it asked for 999
  EXPECT_EQ(report.events[9].served_ns, 2000);
  EXPECT_EQ(report.events.back().served_ns, 2000);
}

// Nobody knows what would be as much.
TEST(OomLog, WhatAsksForNothingKnownIsNotWatched) {
  std::atomic<std::uint64_t> wanted{kNobody};
  OomLog log(wanted);
  static_cast<void>(log.note({.event = allocation(1, 0)}));
  EXPECT_EQ(wanted, kNobody);
  log.begin_report();
  log.describe({});
  EXPECT_FALSE(log.report({}).events.at(0).is_watched);
}

TEST(OomLog, ReportsBecomeFewerWhereTheProgramTriesAgainAndAgain) {
  constexpr std::uint64_t kSecond = OomLog::kSecondNs;
  std::atomic<std::uint64_t> wanted{kNobody};
  OomLog log(wanted);
  std::vector<std::uint64_t> at;
  for (std::uint64_t tenth = 0; tenth < 6000; ++tenth) {
    if (log.deserves_report(kSecond + tenth * kSecond / 10)) at.push_back(tenth / 10);
  }
  ASSERT_GT(at.size(), 12U);
  EXPECT_EQ(at[9], 9U);
  EXPECT_EQ(at[10] - at[9], 2U);
  EXPECT_EQ(at[11] - at[10], 4U);
  EXPECT_EQ(at.back() - at[at.size() - 2], 60U);
  EXPECT_LT(at.size(), 30U);
}

class KeptRefusalsTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "keptXXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void write(int number, Tag tag, std::uint64_t bytes) {
    const std::string path = folder_ + "/" + std::to_string(number);
    const int file = open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY, 0600);
    OwnReport own{.path = path, .file = identity_of(file)};
    close(file);
    Event asked;
    asked.tag = tag;
    asked.bytes = bytes;
    kept_.add(std::move(own), asked);
  }
  std::set<int> there() const {
    std::set<int> found;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      found.insert(std::stoi(entry.path().filename()));
    }
    return found;
  }
  std::string folder_;
  KeptRefusals kept_;
};

TEST_F(KeptRefusalsTest, OfTheSameRequestTheFirstAndTheLastStay) {
  for (int i = 1; i <= 100; ++i) write(i, 7, 4096);
  EXPECT_EQ(there(), (std::set{1, 100}));
}

TEST_F(KeptRefusalsTest, TheFirstTheLastAndTheLargestStay) {
  for (int i = 1; i <= 40; ++i) write(i, static_cast<Tag>(i), i == 1 || i == 40 ? 1 : 100 + i);
  EXPECT_EQ(there(), (std::set{1, 32, 33, 34, 35, 36, 37, 38, 39, 40}));
}

TEST_F(KeptRefusalsTest, LeavesWhatHasTheNameByNow) {
  write(1, 7, 4096);
  write(2, 7, 4096);
  std::ofstream(folder_ + "/99") << "the user's";
  std::filesystem::rename(folder_ + "/99", folder_ + "/2");
  write(3, 7, 4096);
  EXPECT_EQ(there(), (std::set{1, 2, 3}));
}

}  // namespace
}  // namespace vramscope
