// vramscope oom: what was asked for, and what stood in the way, when memory ran out.
// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "reporter/view/text/oom_text.h"
#include "reporter/view/verbs/verb.h"

namespace vramscope {
namespace {

constexpr std::size_t kRows = 10;

int show_oom(OneReport& given) {
  const auto text = [&](const Report& report, const Page& page) {
    return oom_text(report, names_from_symbols(), page, given.listing.most);
  };
  const auto json = [&](const Report& report) {
    return oom_json(report, names_from_symbols(), given.listing.most);
  };
  return show(given, text, json);
}

}  // namespace

Verb add_oom(CommandLine& line) {
  auto arguments = std::make_shared<OneReport>();
  Command& command = line.add_verb("oom", "Explain why memory ran out");
  add_one_report(command, *arguments, kRows);
  add_view_options(command, arguments->stacks);
  return {.command = &command, .act = [arguments] { return show_oom(*arguments); }};
}

}  // namespace vramscope
