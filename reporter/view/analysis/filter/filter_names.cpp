// Says of a filter what it names that a report or a trace does not have.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>
#include <vector>

#include "interpose/settings/options.h"
#include "reporter/report/gpus.h"
#include "reporter/report/report.h"
#include "reporter/view/analysis/filter/filter.h"
#include "reporter/view/analysis/leaks/site_owner.h"
#include "reporter/view/analysis/stacks/thread_names.h"

namespace vramscope {
namespace {

std::set<std::string> owners_of(const Report& report) {
  std::set<std::string> owners;
  for (const LedgerEntry& row : report.ledger) owners.insert(row.owner);
  for (const Site& site : report.sites) owners.insert(owner_of_site(report, site));
  return owners;
}

// Of those that threads, streams and ranges have, refused allocations among them.
std::set<std::string> values_of(const Report& report, Axis axis) {
  if (axis == Axis::owner) return owners_of(report);
  std::set<std::string> values;
  for (const AxisEntry& row : report.axes) {
    if (row.axis == axis) values.insert(row.value);
  }
  for (const OomEvent& event : report.oom.events) {
    if (axis == Axis::thread) values.insert(event.thread);
    if (axis == Axis::range) values.insert(event.range);
  }
  return values;
}

std::vector<std::string> called_functions(const Report& report) {
  std::vector<std::string> names;
  for (const FunctionFacts& function : report.functions) names.push_back(function.name);
  return names;
}

std::set<std::uint16_t> devices_of(const Report& report) {
  std::set<std::uint16_t> devices;
  for (const DeviceReport& device : report.devices) devices.insert(device.facts.index);
  for (const MergedProcess& process : report.processes) {
    for (const ProcessDevice& device : process.devices) devices.insert(device.index);
  }
  for (const KindFacts& kind : report.kinds) {
    if (has_device(kind.kind)) devices.insert(kind.device);
  }
  return devices;
}

}  // namespace

std::string no_such_device(unsigned device, const std::set<std::uint16_t>& devices) {
  if (device <= UINT16_MAX && devices.count(static_cast<std::uint16_t>(device)) != 0) return {};
  std::string all;
  for (const std::uint16_t one : devices) all += (all.empty() ? "" : ", ") + std::to_string(one);
  return "has no device " + std::to_string(device) + "; devices: " + (all.empty() ? "none" : all);
}

std::string no_such_value(const Filter& filter, Axis axis, const std::string& given,
                          const std::set<std::string>& values, const ShowThread& shown) {
  constexpr std::size_t kNamed = 6;
  const bool may_be_none = axis == Axis::range || axis == Axis::stream;
  if (may_be_none && given == kNoValue) return {};
  const auto passes = [&](const std::string& value) { return filter.passes(axis, value); };
  if (given.empty() || std::any_of(values.begin(), values.end(), passes)) return {};
  std::vector<std::string> names(values.begin(), values.end());
  std::erase(names, "");
  std::stable_sort(names.begin(), names.end(), [&](const std::string& a, const std::string& b) {
    return edit_distance(given, a) < edit_distance(given, b);
  });
  const std::string what(kAxisNames[static_cast<std::size_t>(axis)]);
  std::string text = "has no " + what + " '" + given + "'; " + what + "s: ";
  if (names.empty()) return text + "none";
  for (std::size_t i = 0; i < std::min(kNamed, names.size()); ++i) {
    const bool has_more = axis == Axis::thread && shown;
    text += (i == 0 ? "" : ", ") + (has_more ? shown(names[i]) : names[i]);
  }
  return names.size() > kNamed ? text + " and " + std::to_string(names.size() - kNamed) + " more"
                               : text;
}

std::string no_such_function(const Filter& filter, const std::vector<std::string>& names) {
  constexpr std::size_t kNamed = 20;
  if (filter.function.empty() || !functions_that_pass(filter, names).empty()) return {};
  std::string text = "has no call of a function '" + filter.function + "'; functions: ";
  if (names.empty()) return text + "none";
  for (std::size_t i = 0; i < std::min(kNamed, names.size()); ++i)
    text += (i == 0 ? "" : ", ") + names[i];
  return names.size() > kNamed ? text + " and " + std::to_string(names.size() - kNamed) + " more"
                               : text;
}

void name_threads(Filter& filter, const std::set<std::string>& threads, const ThreadNames& names) {
  filter.threads.clear();
  const auto is_called = [&](const std::string& one) { return filter.passes(Axis::thread, one); };
  if (filter.thread.empty() || std::any_of(threads.begin(), threads.end(), is_called)) return;
  for (const std::string& thread : threads) {
    const std::string began = names.began(thread);
    const bool is_it =
        began == filter.thread || began.substr(0, began.rfind(" (")) == filter.thread;
    if (is_it) filter.threads.insert(thread);
  }
}

void name_threads(Filter& filter, const Report& report, const ThreadNames& names) {
  name_threads(filter, values_of(report, Axis::thread), names);
}

std::string missing_from(const Report& report, const Filter& filter, const ShowThread& shown) {
  if (filter.device) {
    const std::string missing = no_such_device(*filter.device, devices_of(report));
    const std::string names = numbers_of_gpus(report);
    if (!missing.empty()) return missing + (names.empty() ? "" : "; ") + names;
  }
  const std::pair<Axis, const std::string&> named[] = {{Axis::owner, filter.owner},
                                                       {Axis::thread, filter.thread},
                                                       {Axis::stream, filter.stream},
                                                       {Axis::range, filter.range}};
  for (const auto& [axis, given] : named) {
    if (given.empty()) continue;
    std::string missing = no_such_value(filter, axis, given, values_of(report, axis), shown);
    if (!missing.empty()) return missing;
  }
  return no_such_function(filter, called_functions(report));
}

}  // namespace vramscope
