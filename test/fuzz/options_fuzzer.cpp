// Environments that a fuzzer makes: settings and patterns of names.
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "interpose/settings/alloc_conf.h"
#include "interpose/settings/options.h"
#include "reporter/report/files/file_name.h"

namespace vramscope {
namespace {

void demand(bool holds) {
  if (!holds) std::abort();
}

void demand_few_short(const std::vector<std::string>& lines) {
  constexpr std::size_t kMost = 21;
  constexpr std::size_t kLongest = 1000;
  demand(lines.size() <= kMost);
  for (const std::string& line : lines) demand(line.size() <= kLongest);
}

// What is echoed is accepted again, and means the same.
void demand_same_again(const Options& options) {
  const auto echoed = echo(options);
  const std::vector<OptionRow> rows = option_rows();
  std::vector<Setting> settings;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    settings.push_back({rows[i].variable, echoed[i].second});
  }
  const ParseResult again = parse_options(settings);
  demand(again.problems.empty() && echo(again.options) == echoed);
}

void demand_one_file_name(const std::string& pattern) {
  static char value[] = "..";
  const auto lookup = [](const char*) { return +value; };
  const NameFacts facts{.pid = 1, .hostname = "..", .executable = "..", .sequence = 2};
  static_cast<void>(unknown_escape(pattern));
  static_cast<void>(expand_pattern(pattern, facts, lookup));
}

}  // namespace
}  // namespace vramscope

// Entries end with a zero byte, as in /proc/PID/environ.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace vramscope;
  const std::string text(reinterpret_cast<const char*>(bytes), size);
  std::vector<const char*> environment;
  for (std::size_t at = 0; at < text.size(); at = text.find('\0', at) + 1) {
    environment.push_back(text.c_str() + at);
    if (text.find('\0', at) == std::string::npos) break;
  }
  environment.push_back(nullptr);
  const ParseResult result = parse_options(collect_settings(environment.data()));
  demand_few_short(result.problems);
  demand_same_again(result.options);
  const AllocConf conf = parse_alloc_conf(result.options.alloc_conf, Limits{});
  demand_few_short(conf.problems);
  demand_few_short(conf.notes);
  demand_one_file_name(result.options.output);
  return 0;
}
