// SPDX-License-Identifier: Apache-2.0
#include "interpose/life/running_options.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "interpose/base/clock.h"

namespace vramscope {
namespace {

// How others change, by another command.
struct Otherwise {
  std::string_view name, how;
};
constexpr Otherwise kOtherwise[] = {
    {"device_memory_limit", "set_limit changes it"},
    {"trace", "trace on FILE and trace off change it"},
    {"stacks", "pause and resume switch call stacks off and on"},
    {"sample_bytes",
     "estimates of a report have one distance; pause and resume switch call stacks"},
};

std::string why_fixed(const Options& at_start, std::string_view name) {
  const auto* const other =
      std::ranges::find_if(kOtherwise, [&](const Otherwise& one) { return one.name == name; });
  if (other != std::end(kOtherwise)) return std::string(other->how);
  for (const auto& [known, value] : echo(at_start)) {
    if (known == name) return "it is read when the program starts, and stays '" + value + "'";
  }
  return "there is no such option";
}

}  // namespace

constexpr RunningOptions::Row RunningOptions::kRows[] = {
    {"interval",
     [](RunningOptions& running, const Options& parsed) noexcept {
       running.schedule_.every(parsed.interval.milliseconds * 1'000'000, now_ns());
     }},
    {"report_on_growth",
     [](RunningOptions& running, const Options& parsed) noexcept {
       running.schedule_.on_growth(parsed.report_on_growth.value);
     }},
    {"report_at_peak",
     [](RunningOptions& running, const Options& parsed) noexcept {
       running.schedule_.at_peak(parsed.report_at_peak.value);
     }},
    {"report_at_exit",
     [](RunningOptions& running, const Options& parsed) noexcept {
       running.at_exit_.store(parsed.report_at_exit, std::memory_order_relaxed);
     }},
    {"on_oom",
     [](RunningOptions& running, const Options& parsed) noexcept {
       running.on_oom_.store(parsed.on_oom, std::memory_order_relaxed);
     }},
};

RunningOptions::RunningOptions(const Options& at_start, Schedule& schedule) noexcept
    : at_start_(at_start),
      schedule_(schedule),
      at_exit_(at_start.report_at_exit),
      on_oom_(at_start.on_oom) {}

std::string RunningOptions::set(std::string_view name, std::string_view value) {
  const Row* const row =
      std::ranges::find_if(kRows, [&](const Row& one) { return one.name == name; });
  if (row == std::end(kRows)) {
    return "the option '" + std::string(name) +
           "' cannot be set now: " + why_fixed(at_start_, name);
  }
  const std::vector<OptionRow> all = option_rows();
  const auto known = std::ranges::find(all, name, &OptionRow::name);
  const Setting setting{known->variable, value};
  const ParseResult parsed = parse_options({&setting, 1});
  if (value.empty() || !parsed.problems.empty()) {
    return std::string(name) + ": '" + std::string(value) + "' is not " + known->accepted;
  }
  row->apply(*this, parsed.options);
  return "";
}

}  // namespace vramscope
