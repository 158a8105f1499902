// vramscope stats: the counters of a report under PyTorch's names.
// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "reporter/report/report.h"
#include "reporter/view/text/stats_text.h"
#include "reporter/view/verbs/verb.h"

namespace vramscope {
namespace {

struct Arguments {
  std::string file;
  std::optional<unsigned> device;
  Listing listing;
};

int show(Arguments& arguments) {
  const std::optional<Report> report = open_report(arguments.file);
  if (!report) return kBadInput;
  const StatsOf of{.device = arguments.device, .most = arguments.listing.most};
  const std::optional<std::string> text = arguments.listing.json
                                              ? stats_json(*report, of)
                                              : stats_text(*report, of, page_of(arguments.listing));
  if (text) return publish(arguments.listing, *text);
  say("'" + arguments.file + "' has no device " + std::to_string(*arguments.device));
  return kBadInput;
}

}  // namespace

Verb add_stats(CommandLine& line) {
  auto arguments = std::make_shared<Arguments>();
  Command& command = line.add_verb("stats", "Show every counter, by its PyTorch name");
  command.positional("FILE", &arguments->file, "Report");
  command.option("--device", &arguments->device, "Only the device with this number",
                 {.value_name = "N", .why_not = not_a_count});
  add_listing_options(command, arguments->listing);
  command.footer(
      "Examples:\n"
      "  vramscope stats vramscope.train.4711.json\n"
      "  vramscope stats --device 0 --json vramscope.train.4711.json\n"
      "      the dictionary that torch.cuda.memory_stats(0) gives");
  return {.command = &command, .act = [arguments] { return show(*arguments); }};
}

}  // namespace vramscope
