// Merging with little memory gives what merging with much gives.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/merge.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <system_error>

#include "reporter/report/json.h"
#include "reporter/report/report.h"
#include "reporter/report/site_list.h"

namespace vramscope {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kHardlyAny = 4000;  // bytes: a few sites

class Merging : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "merge_test.XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    setenv("TMPDIR", folder_.c_str(), 1);
  }
  void TearDown() override {
    unsetenv("TMPDIR");
    fs::remove_all(folder_);
  }

  // Of a process; some of its stacks are those of others, and many sites are equal in numbers.
  static Report report_of(std::uint32_t process) {
    auto read = read_report(SAMPLE);
    auto& report = std::get<Report>(read);
    std::minstd_rand chance(process + 1);
    report.process.pid = process;
    report.oom.events.clear();
    const Site pattern = report.sites[0];
    for (std::uint32_t i = 0; i < 20; ++i) {
      report.frames.push_back({.offset = chance() % 200 + 1});
      Site& site = report.sites.emplace_back(pattern);
      site.frames[0] = static_cast<std::uint32_t>(report.frames.size() - 1);
      site.totals.peak_bytes = chance() % 3;
      site.estimate.reset();
    }
    for (KindFacts& kind : report.kinds) {
      kind.peak_site = static_cast<std::int64_t>(chance() % report.sites.size());
    }
    return std::move(report);
  }
  static void add_some(Merger& merger) {
    for (std::uint32_t process = 0; process < 40; ++process) merger.add(report_of(process));
  }
  [[nodiscard]] std::string text_of(const std::variant<std::string, FileError>& written) const {
    EXPECT_TRUE(std::holds_alternative<std::string>(written));
    std::ifstream file(std::get<std::string>(written), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::string folder_;
};

TEST_F(Merging, GivesTheSameBytesWhenSitesAndProcessesHaveToBePutAside) {
  Merger with_much, with_little, one_at_a_time(kHardlyAny);
  with_little = Merger(kHardlyAny);
  for (Merger* merger : {&with_much, &with_little, &one_at_a_time}) add_some(*merger);

  const std::string wanted = text_of(write_report(with_much.finish(), folder_ + "/much.json"));
  const std::string all = text_of(write_report(with_little.finish(), folder_ + "/little.json"));
  const Report but_lists = one_at_a_time.finish_but_lists();
  const std::string listed =
      text_of(write_report(but_lists, one_at_a_time.lists(), folder_ + "/listed.json"));

  EXPECT_TRUE(but_lists.sites.empty());
  EXPECT_GT(one_at_a_time.lists().size(), 100U);
  EXPECT_TRUE(wanted == all);
  EXPECT_TRUE(wanted == listed);
}

TEST_F(Merging, LeavesNoScratchFileBehindAndSaysWhereNoneCanBe) {
  Merger merger(kHardlyAny);
  add_some(merger);
  EXPECT_TRUE(fs::is_empty(folder_));

  setenv("TMPDIR", (folder_ + "/none").c_str(), 1);
  Merger without(kHardlyAny);
  try {
    add_some(without);
    FAIL() << "it kept what has no room";
  } catch (const std::system_error& error) {
    EXPECT_EQ(error.what(),
              "cannot make a scratch file in '" + folder_ + "/none': No such file or directory");
  }
}

}  // namespace
}  // namespace vramscope
