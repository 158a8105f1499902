// Which of several processes is named where they have the same number.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/process_figures.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "reporter/view/text/runs_text.h"

namespace vramscope {
namespace {

// Named by their process numbers, which say nothing of ranks: files come in that order.
std::vector<ReportOfProcess> ranks(const std::vector<std::uint64_t>& peaks) {
  std::vector<ReportOfProcess> reports;
  for (std::size_t i = 0; i < peaks.size(); ++i) {
    ReportOfProcess& one = reports.emplace_back();
    one.file = std::to_string(100 + i);
    one.process.process.pid = 100 + static_cast<std::int64_t>(i);
    one.process.process.rank = static_cast<std::int32_t>(peaks.size() - 1 - i);
    one.process.kinds = {{.kind = Kind::device, .peak_bytes = peaks[i]}};
  }
  return reports;
}

// It was the one whose process number came first, another one in each run.
TEST(Spread, OfSeveralWithTheSameNumberTheLeastRankIsNamed) {
  const auto reports = ranks({7, 7, 5, 5, 5, 5, 3, 3});
  const Spread spread = spread_of(reports, peak_figure());
  const auto rank = [&](std::size_t index) { return reports[index].process.process.rank; };

  EXPECT_EQ(rank(spread.least_in), 0);
  EXPECT_EQ(rank(spread.median_in), 2);
  EXPECT_EQ(rank(spread.most_in), 6);
  EXPECT_EQ(spread.median, 5U);
}

TEST(Runs, ThoseWithTheSamePeakAreListedByRank) {
  const Runs runs = runs_of(ranks({5, 7, 5, 5}), {});
  std::vector<std::int64_t> listed;
  for (const ReportOfProcess& one : runs.reports) listed.push_back(one.process.process.rank);

  EXPECT_EQ(listed, (std::vector<std::int64_t>{2, 0, 1, 3}));
}

}  // namespace
}  // namespace vramscope
