// A report against what its program knows.
// SPDX-License-Identifier: Apache-2.0
#include "test/differential/comparison_known.h"

#include <cstdint>
#include <set>

namespace vramscope::differential {

using judge::Json;
using judge::Problems;

namespace {

// The functions that reports list; those of graphics and the like are never called here.
const std::set<std::string>& recorded_functions() {
  static const std::set<std::string> names = {
#define DRIVER_FUNCTION(symbol, ...) #symbol,
#include "interpose/table/functions.def"
  };
  return names;
}

std::string differs(const std::string& what, std::int64_t want, std::int64_t got) {
  return what + ": " + std::to_string(got) + " in the report, the program knows of " +
         std::to_string(want);
}

void compare_calls(Problems& problems, const Json& report, const Known& known) {
  std::map<std::string, Known::Calls> listed;
  for (const Json& function : report.at("functions")) {
    const std::string name = function.at("name").get<std::string>();
    if (listed.contains(name)) problems.push_back(name + " is listed twice");
    listed[name] = {function.at("calls").get<std::uint64_t>(),
                    function.at("failures").get<std::uint64_t>()};
    // What the ways to find functions go through is not counted by the program.
    const bool is_a_way = name.starts_with("cuGetProcAddress");
    if (listed[name].calls != 0 && !is_a_way && !known.calls.contains(name)) {
      problems.push_back(name + " is in the report, the program never called it");
    }
  }
  for (const auto& [name, want] : known.calls) {
    if (!recorded_functions().contains(name) || name == "cuInit") continue;
    const Known::Calls got = listed[name];
    const auto calls = static_cast<std::int64_t>(got.calls);
    const auto failures = static_cast<std::int64_t>(got.failures);
    if (got.calls != want.calls) {
      problems.push_back(differs("calls of " + name, static_cast<std::int64_t>(want.calls), calls));
    }
    if (got.failures != want.failures) {
      problems.push_back(
          differs("failures of " + name, static_cast<std::int64_t>(want.failures), failures));
    }
  }
}

// Exact, but for what was freed while a graph might use it, which counts until it may be reused,
// and for the memory of graphs.
void compare_sums(Problems& problems, const Json& report, const Known& known) {
  std::map<std::pair<int, std::string>, Known::Sum> listed;
  std::map<std::pair<int, std::string>, int> owners;  // several have their peaks at other times
  for (const Json& row : report.at("ledger")) {
    ++owners[{row.at("device").get<int>(), row.at("kind").get<std::string>()}];
    Known::Sum& sum = listed[{row.at("device").get<int>(), row.at("kind").get<std::string>()}];
    sum.live += row.at("current_bytes").get<std::int64_t>();
    sum.peak += row.at("peak_bytes").get<std::int64_t>();
    sum.made += row.at("calls").get<std::uint64_t>();
  }
  for (const auto& [key, want] : known.sums) {
    const Known::Sum got = listed[key];
    const std::string what = key.second + " of device " + std::to_string(key.first);
    listed.erase(key);
    if (key.second == "graph") {  // shared: no more than all that was launched
      if (got.live > want.live)
        problems.push_back(differs("bytes of " + what, want.live, got.live));
      if (got.peak > want.peak) problems.push_back(differs("peak of " + what, want.peak, got.peak));
      continue;
    }
    const bool may_be_held = key.second == "device" || key.second == "pinned";
    const std::int64_t slack = may_be_held ? known.held : 0;
    if (got.live < want.live || got.live > want.live + slack) {
      problems.push_back(differs("bytes of " + what, want.live, got.live));
    }
    const bool is_bound = known.together || slack != 0 || owners[key] > 1;
    if (got.peak < want.peak || (!is_bound && got.peak != want.peak)) {
      problems.push_back(differs("peak of " + what, want.peak, got.peak));
    }
    if (got.made != want.made) {
      problems.push_back(differs("allocations of " + what, static_cast<std::int64_t>(want.made),
                                 static_cast<std::int64_t>(got.made)));
    }
  }
  for (const auto& [key, got] : listed) {
    if (got.made == 0) continue;
    problems.push_back(key.second + " of device " + std::to_string(key.first) +
                       " is in the report, the program knows of none");
  }
}

// The number of the site that a stack goes through, or -1.
int site_of(const Json& report, const Json& site, const Known& known) {
  for (const Json& index : site.at("frames")) {
    const Json& frame = report.at("frames").at(index.get<std::size_t>());
    if (frame.at("module").is_null()) continue;
    const Json& module = report.at("modules").at(frame.at("module").get<std::size_t>());
    if (!module.at("path").get_ref<const std::string&>().ends_with("/player")) continue;
    const auto offset = frame.at("offset").get<std::uint64_t>();
    for (const auto& [number, range] : known.ranges) {
      if (offset > range.offset && offset <= range.offset + range.bytes) return number;
    }
  }
  return -1;
}

void compare_sites(Problems& problems, const Json& report, const Known& known) {
  std::map<int, std::int64_t> live;
  for (const Json& site : report.at("sites")) {
    live[site_of(report, site, known)] += site.at("live_bytes").get<std::int64_t>();
  }
  for (const auto& [number, site] : known.sites) {
    const std::int64_t got = live[number];
    if (got < site.live - site.of_graphs || got > site.live + known.held) {
      problems.push_back(differs("bytes of site " + std::to_string(number), site.live, got));
    }
  }
}

}  // namespace

Problems compare(const Json& report, const Known& known, bool stacks) {
  Problems problems;
  if (known.nothing) return problems;
  compare_calls(problems, report, known);
  compare_sums(problems, report, known);
  if (stacks) compare_sites(problems, report, known);
  return problems;
}

}  // namespace vramscope::differential
