// vramscope stats: the counters of a report under PyTorch's names.
// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <utility>

#include "reporter/report/report.h"
#include "reporter/view/text/stats_text.h"
#include "reporter/view/verbs/verb.h"

namespace vramscope {
namespace {

constexpr std::size_t kAllRows = 0;

struct Arguments : OneReport {
  std::optional<unsigned> device;
};

int show_stats(Arguments& given) {
  settle_rows(given.listing);
  const StatsOf of{.device = given.device, .most = given.listing.most, .sort = given.listing.sort};
  bool failed = false;
  const auto checked = [&](std::optional<std::string> made) {
    if (made) return std::move(*made);
    say("'" + given.file + "' has no device " + std::to_string(*given.device));
    failed = true;
    return std::string();
  };
  const auto text = [&](const Report& report, const Page& page) {
    return checked(stats_text(report, of, page));
  };
  const auto json = [&](const Report& report) { return checked(stats_json(report, of)); };
  const auto csv = [&](const Report& report, CsvText& rows) {
    (void)checked(add_stats_csv(rows, report, of) ? std::optional<std::string>("") : std::nullopt);
  };
  given.next = "report";
  given.columns = {names_of(stats_columns())};
  const int status = show(given, {text, json, csv});
  return failed ? kBadInput : status;
}

}  // namespace

Verb add_stats(CommandLine& line) {
  auto arguments = std::make_shared<Arguments>();
  Command& command = line.add_verb("stats", "Show every counter, by its PyTorch name");
  add_one_report(command, *arguments, kAllRows);
  command.option("--device", &arguments->device, "Only the device with this number",
                 {.value_name = "N", .why_not = not_a_count});
  command.footer(
      "Examples:\n"
      "  vramscope stats vramscope.train.4711.json\n"
      "  vramscope stats --device 0 --json vramscope.train.4711.json\n"
      "      the dictionary that torch.cuda.memory_stats(0) gives");
  return {.command = &command, .act = [arguments] { return show_stats(*arguments); }};
}

}  // namespace vramscope
