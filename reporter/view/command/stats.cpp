// vramscope stats: the counters of a report under PyTorch's names.
// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <utility>

#include "reporter/report/report.h"
#include "reporter/view/command/show.h"
#include "reporter/view/text/stats_text.h"

namespace vramscope {
namespace {

constexpr std::size_t kAllRows = 0;

int show_stats(OneReport& given) {
  settle_rows(given.listing);
  const StatsOf of{
      .device = given.filter.device, .most = given.listing.most, .sort = given.listing.sort};
  const auto text = [&](const Report& report, const Page& page) {
    return stats_text(report, of, page);
  };
  const auto json = [&](const Report& report) { return stats_json(report, of).value_or("{}"); };
  const auto csv = [&](const Report& report, CsvText& rows) {
    (void)add_stats_csv(rows, report, of);  // the filter saw to the device
  };
  given.next = "report";
  given.columns = {names_of(stats_columns())};
  return show(given, {text, json, csv});
}

}  // namespace

Verb add_stats(CommandLine& line) {
  auto arguments = std::make_shared<OneReport>();
  Command& command = line.add_verb("stats", "Show Vramscope's counters under PyTorch's names");
  arguments->adds_up = true;
  add_one_report(command, *arguments, kAllRows);
  arguments->use.subject = Subject::counters;
  add_filters(command, arguments->filter, arguments->use);
  add_redact(command, arguments->reading);
  command.footer(
      "Examples:\n  vramscope stats vramscope.train.4711.json\n  vramscope stats --device 0 --json "
      "vramscope.train.4711.json\n      a dictionary with the keys of torch.cuda.memory_stats(0)");
  return {.command = &command, .act = [arguments] { return show_stats(*arguments); }};
}

}  // namespace vramscope
