// vramscope peak: what made the peak of each kind of memory.
// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "reporter/view/text/peak_text.h"
#include "reporter/view/verbs/verb.h"

namespace vramscope {
namespace {

constexpr std::size_t kRows = 10;

int show_peak(OneReport& given) {
  const auto text = [&](const Report& report, const Page& page) {
    return peak_text(report, names_from_symbols(), page, given.listing.most);
  };
  const auto json = [&](const Report& report) {
    return peak_json(report, names_from_symbols(), given.listing.most);
  };
  return show(given, text, json);
}

}  // namespace

Verb add_peak(CommandLine& line) {
  auto arguments = std::make_shared<OneReport>();
  Command& command = line.add_verb("peak", "Explain the peak of each kind of memory");
  add_one_report(command, *arguments, kRows);
  add_view_options(command, arguments->stacks);
  return {.command = &command, .act = [arguments] { return show_peak(*arguments); }};
}

}  // namespace vramscope
