// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/command/trial_options.h"

#include <algorithm>
#include <charconv>
#include <span>

#include "interpose/settings/options.h"
#include "reporter/view/text/replay_text.h"

namespace vramscope {
namespace {

constexpr std::span kModeWords = std::span(kTrialModes).first<3>();  // those that serve memory

std::string none_of(const std::string& given, std::span<const std::string_view> words) {
  const bool is_one = std::find(words.begin(), words.end(), given) != words.end();
  return is_one ? "" : "'" + given + "' is none of " + listed(words);
}

std::string no_capacity(const std::string& given) {
  CapacityOption capacity;
  if (!read(given, capacity) || !capacity.any()) {
    return "'" + given + "' is no size such as 24GiB, or 0:24GiB,1:10GiB" + unit_meant(given);
  }
  for (const std::uint64_t bytes : capacity.bytes) {
    if (bytes > kMostCapacity) return "'" + given + "' is above 16TiB";
  }
  return "";
}

// "47us" in nanoseconds; a whole number of ns, us or ms.
std::optional<std::uint64_t> time_of(std::string_view text) {
  std::uint64_t number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit(rest, static_cast<std::size_t>(text.data() + text.size() - rest));
  constexpr std::uint64_t kMost = 1'000'000'000;  // a call takes less than 1000 s
  if (error != std::errc() || number > kMost / 1000) return std::nullopt;
  if (unit == "ns") return number;
  if (unit == "us") return number * 1000;
  if (unit == "ms") return number * 1'000'000;
  return std::nullopt;
}

std::optional<CallCosts> costs_of(std::string_view text) {
  if (text.empty() || text == "h200") return CallCosts{};
  const std::size_t comma = text.find(',');
  if (comma == text.npos) return std::nullopt;
  const auto allocate = time_of(text.substr(0, comma));
  const auto free = time_of(text.substr(comma + 1));
  if (!allocate || !free) return std::nullopt;
  return CallCosts{.from = CallCosts::From::given, .allocate_ns = *allocate, .free_ns = *free};
}

std::string no_costs(const std::string& given) {
  if (given == "trace" || costs_of(given)) return "";
  return "'" + given + "' is none of h200, trace, or two times such as 47us,38us";
}

// Each of them with each other; "" where nothing was typed.
std::vector<TypedRow> typed_rows(const TrialOptions& options) {
  const std::vector<std::string> any{""};
  const std::vector<std::string>& modes = options.modes.empty() ? any : options.modes;
  // Settings of PyTorch mean its policy unless another one is typed.
  const std::vector<std::string> of_conf{options.alloc_confs.empty() ? "" : "pytorch"};
  const std::vector<std::string>& policies = options.policies.empty() ? of_conf : options.policies;
  std::vector<TypedRow> typed;
  for (const std::string& mode : modes) {
    for (const std::string& policy : policies) {
      if (options.alloc_confs.empty()) typed.push_back({.mode = mode, .policy = policy});
      for (const std::string& conf : options.alloc_confs) {
        typed.push_back({.mode = mode, .policy = policy, .alloc_conf = conf});
      }
    }
  }
  return typed;
}

}  // namespace

void add_trial_options(Command& command, TrialOptions& options) {
  const auto mode = [](const std::string& given) { return none_of(given, kModeWords); };
  const auto policy = [](const std::string& given) { return none_of(given, kTrialPolicies); };
  command.option(
      "--mode", &options.modes, "Replay in this mode: " + listed(kModeWords),
      {.value_name = "MODE", .why_not = mode, .choices = choices_in(listed(kModeWords))});
  command.option(
      "--policy", &options.policies, "Replay under this policy: " + listed(kTrialPolicies),
      {.value_name = "POLICY", .why_not = policy, .choices = choices_in(listed(kTrialPolicies))});
  command.option("--alloc-conf", &options.alloc_confs, "Replay with these options of the allocator",
                 {.value_name = "NAME:VALUE,..."});
}

void add_replay_options(Command& command, TrialOptions& options) {
  command.option("--capacity", &options.capacity,
                 "Give the GPU this much memory; 24GiB, or by device 0:24GiB,1:10GiB",
                 {.value_name = "SIZE", .why_not = no_capacity});
  command.option(
      "--call-costs", &options.call_costs,
      "Assume these call times: h200 (as measured there), trace (as recorded), or ALLOCATE,FREE "
      "such as 47us,38us",
      {.value_name = "COSTS", .why_not = no_costs});
}

void add_tune_options(Command& command, TrialOptions& options) {
  command.option("--alloc-conf", &options.alloc_confs,
                 "Also test these options under policy pytorch, and list them",
                 {.value_name = "NAME:VALUE,..."});
}

CallCosts costs_for(const TrialSteps& trace, const TrialOptions& options) {
  if (options.call_costs != "trace") return costs_of(options.call_costs).value_or(CallCosts{});
  return {.from = CallCosts::From::trace,
          .allocate_ns = trace.measured.allocate_ns(),
          .free_ns = trace.measured.free_ns()};
}

void adjust_row(const TrialOptions& options, const CallCosts& costs, TrialRow& row) {
  row.settings.costs = costs;
  CapacityOption capacity;
  if (options.capacity.empty() || !read(options.capacity, capacity)) return;
  for (std::size_t i = 0; i < kMaxDevices; ++i) {
    if (capacity.bytes[i] != 0) row.settings.capacity[i] = capacity.bytes[i];
  }
}

MadeRows make_rows(TrialSteps& trace, const TrialOptions& options) {
  MadeRows made{.rows = {}, .costs = costs_for(trace, options), .problem = {}};
  const bool is_usual =
      options.modes.empty() && options.policies.empty() && options.alloc_confs.empty();
  learn(trace, recorded_row(trace).row.value().settings);
  if (is_usual) made.rows = usual_rows(trace);
  for (const TypedRow& typed : is_usual ? std::vector<TypedRow>() : typed_rows(options)) {
    MadeRow row = make_row(trace, typed);
    if (!row.row) {
      made.problem = row.problem;
      return made;
    }
    made.rows.push_back(std::move(*row.row));
  }
  for (TrialRow& row : made.rows) adjust_row(options, made.costs, row);
  return made;
}

}  // namespace vramscope
