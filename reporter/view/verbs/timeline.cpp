// vramscope timeline: how much was allocated over time.
// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "reporter/view/text/timeline_text.h"
#include "reporter/view/verbs/verb.h"

namespace vramscope {
namespace {

constexpr std::size_t kAllRows = 0;

int show_timeline(OneReport& given) {
  const auto text = [&](const Report& report, const Page& page) {
    return timeline_text(report, page, given.listing.most);
  };
  const auto json = [&](const Report& report) { return timeline_json(report, given.listing.most); };
  given.next = "peak";
  return show(given, text, json);
}

}  // namespace

Verb add_timeline(CommandLine& line) {
  auto arguments = std::make_shared<OneReport>();
  Command& command = line.add_verb("timeline", "Draw how much was allocated over time");
  add_one_report(command, *arguments, kAllRows);
  return {.command = &command, .act = [arguments] { return show_timeline(*arguments); }};
}

}  // namespace vramscope
