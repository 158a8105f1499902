// Scales what each process held to levels, a letter each: 1,024 ranks take little room so.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/page/page_ranks.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "reporter/report/report.h"
#include "reporter/view/analysis/ranks_over_time.h"
#include "reporter/view/listing/json_text.h"
#include "reporter/view/words/quantities.h"

namespace vramscope {
namespace {

constexpr std::size_t kSteps = 120;  // what a text of a page has room for (page.cpp)

// Anything above nothing is above the lowest level.
char level(std::uint64_t bytes, std::uint64_t most) {
  const double share = static_cast<double>(bytes) / static_cast<double>(std::max(most, bytes));
  const auto top = static_cast<double>(kLevels.size() - 1);
  return bytes == 0
             ? kLevels.front()
             : kLevels[std::max<std::size_t>(static_cast<std::size_t>(share * top + 0.5), 1)];
}

std::string levels(const RankCurve& one, std::size_t steps, std::uint64_t most) {
  std::string text(steps, ' ');
  for (std::size_t i = one.first; i < one.end; ++i)
    text[i] = level(one.highest[i - one.first], most);
  return text;
}

}  // namespace

std::string ranks_for_page(std::vector<ReportOfProcess> reports) {
  choose_memory(reports);
  const RanksOverTime over = ranks_over_time(reports, {.steps = kSteps});
  std::uint64_t most = 0;
  for (const RankCurve& one : over.ranks) most = std::max(most, one.peak_bytes);
  if (most == 0) return "";
  JsonText json;
  json.object().field("clock", kRankClockNames[static_cast<std::size_t>(over.clock)]);
  json.field("step_ns", over.step_ns).field("steps", over.steps.size());
  json.field("most_bytes", most).field("is_of_host", over.is_of_host);
  json.field("alphabet", kLevels).key("medians").array();
  for (const RankStep& step : over.steps) json.value(step.median);
  json.end().key("ranks").array();
  for (const RankCurve& one : over.ranks) {
    const ProcessFacts& process = reports[one.which].process.process;
    json.object().field("pid", process.pid).field("hostname", harmless(process.hostname));
    json.field("peak_ns", one.peak_ns).field("apart_bytes", one.apart_bytes);
    json.field("levels", levels(one, over.steps.size(), most)).end();
  }
  return json.end().end().text();
}

}  // namespace vramscope
