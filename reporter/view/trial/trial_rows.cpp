// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/trial/trial_rows.h"

#include <utility>

#include "interpose/settings/alloc_conf.h"

namespace vramscope {
namespace {

constexpr std::uint64_t kHostBytes = std::uint64_t{1} << 40;  // where the trace does not say

Serving serving_of(Mode mode) {
  if (mode == Mode::observe) return Serving::driver;
  return mode == Mode::dedicated ? Serving::dedicated : Serving::cache;
}

// A trace of another version may have words that this one does not know.
template <class Value>
bool read_setting(const char* name, const std::string& text, Value& value, std::string& problem) {
  if (text.empty() || read(text, value)) return true;
  problem = std::string(name) + ": unknown value '" + text + "'";
  return false;
}

void set_devices(const TrialSteps& trace, TrialSettings& settings) {
  for (std::size_t i = 0; i < kMaxDevices; ++i) {
    settings.capacity[i] = trace.total_bytes[i] != 0 ? trace.total_bytes[i] : kMostCapacity;
  }
  settings.host_bytes = trace.recorded.host_bytes != 0 ? trace.recorded.host_bytes : kHostBytes;
}

}  // namespace

bool is_same_setting(const TrialRow& a, const TrialRow& b) {
  return a.settings.serving == b.settings.serving &&
         (a.settings.serving == Serving::driver ||
          a.settings.limits.under_policy() == b.settings.limits.under_policy());
}

MadeRow make_row(const TrialSteps& trace, const TypedRow& typed) {
  const RecordedSettings& recorded = trace.recorded;
  TrialRow row;
  std::string problem;
  bool exact_fallback = true;
  CapacityOption limit;
  Limits& limits = row.settings.limits;
  const bool is_read =
      read_setting("mode", typed.mode.empty() ? recorded.mode : typed.mode, row.mode, problem) &&
      read_setting("policy", typed.policy.empty() ? recorded.policy : typed.policy, row.policy,
                   problem) &&
      read_setting("reuse", recorded.reuse, limits.reuse, problem) &&
      read_setting("exact_fallback", recorded.exact_fallback, exact_fallback, problem) &&
      read_setting("device_memory_limit", recorded.device_memory_limit, limit, problem);
  if (!is_read) return {.problem = problem};
  if (row.mode == Mode::off) return {.problem = "mode off records and serves nothing"};
  limits.policy = row.policy;
  limits.exact_fallback = exact_fallback;
  row.alloc_conf = typed.alloc_conf.value_or(typed.policy.empty() ? recorded.alloc_conf : "");
  AllocConf conf = parse_alloc_conf(row.alloc_conf, limits);
  if (!conf.problems.empty()) return {.problem = conf.problems.front()};
  limits = conf.limits;
  row.settings.serving = serving_of(row.mode);
  row.settings.memory_limit = limit.bytes;
  set_devices(trace, row.settings);
  return {.row = std::move(row)};
}

std::vector<TrialSettings> settings_of(const std::vector<TrialRow>& rows) {
  std::vector<TrialSettings> settings;
  for (const TrialRow& row : rows) settings.push_back(row.settings);
  return settings;
}

MadeRow recorded_row(const TrialSteps& trace) {
  MadeRow made = make_row(trace, {});
  if (made.row) made.row->is_recorded = true;
  return made;
}

std::vector<TrialRow> usual_rows(const TrialSteps& trace) {
  std::vector<TrialRow> rows;
  const auto add = [&](const MadeRow& made) {
    if (!made.row) return;
    for (const TrialRow& known : rows) {
      if (is_same_setting(known, *made.row)) return;
    }
    rows.push_back(*made.row);
  };
  add(recorded_row(trace));
  add(make_row(trace, {.mode = "cache", .policy = "native-safe", .alloc_conf = ""}));
  add(make_row(trace, {.mode = "cache", .policy = "pytorch", .alloc_conf = ""}));
  for (const char* const conf : {"expandable_segments:True", "growing_segments:True"}) {
    add(make_row(trace, {.mode = "cache", .policy = "pytorch", .alloc_conf = conf}));
  }
  add(make_row(trace, {.mode = "dedicated", .policy = "native-safe", .alloc_conf = ""}));
  add(make_row(trace, {.mode = "observe", .policy = "native-safe", .alloc_conf = ""}));
  return rows;
}

}  // namespace vramscope
