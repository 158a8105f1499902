// Whatever tells memory apart, the parts add up to their kind: axes, owners, sites, the timeline.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdint>
#include <tuple>

#include "test/recount/recount.h"

namespace vramscope::judge {
namespace {

struct Sums {
  std::int64_t live = 0, peak = 0, count = 0;

  void add(const Json& totals) {
    live += totals.at("live_bytes").get<std::int64_t>();
    peak += totals.at("peak_bytes").get<std::int64_t>();
    count += totals.at("total_count").get<std::int64_t>();
  }
};

// By what, device, kind.
using Key = std::tuple<std::string, std::int64_t, std::string>;

Key key_of(const std::string& axis, const Json& row) {
  return {axis, row.at("device").get<std::int64_t>(), row.at("kind").get<std::string>()};
}

std::map<Key, Sums> sums_of(const Json& report) {
  std::map<Key, Sums> sums;
  for (const Json& row : report.at("axes")) {
    sums[key_of(row.at("axis").get<std::string>(), row)].add(row);
  }
  for (const Json& site : report.at("sites")) {
    for (const Json& part : site.at("parts")) sums[key_of("site", part)].add(part);
  }
  return sums;
}

// Attribution keeps more than sums: the most that each value held, and the times.
bool keeps_details(const Json& report) {
  return report.at("process").at("options").value("attribution", "on") == "on";
}

void check_own_peaks(Problems& problems, const Json& report) {
  for (const Json& row : report.at("axes")) {
    Sums held;
    held.add(row);
    if (row.at("own_peak_bytes").get<std::int64_t>() >= std::max(held.live, held.peak)) continue;
    problems.push_back("axis " + row.at("axis").get<std::string>() + ": " +
                       row.at("value").get<std::string>() + " held more than its own peak");
  }
}

// Blocks by site that are freed and still count as live.
std::map<std::int64_t, std::int64_t> pending_by_site(const Json& report) {
  std::map<std::int64_t, std::int64_t> pending;
  const auto add = [&](const Json& segments) {
    for (const Json& segment : segments) {
      for (const Json& block : segment.at("blocks")) {
        if (block.at("state") == "active_pending_free" && !block.at("site").is_null()) {
          ++pending[block.at("site").get<std::int64_t>()];
        }
      }
    }
  };
  for (const Json& device : report.at("devices")) add(device.at("segments"));
  add(report.at("host").at("segments"));
  return pending;
}

// What was allocated is live or had a life time, or ended with its context.
void check_histograms(Problems& problems, const Json& report) {
  const auto sum = [](const Json& list) {
    std::int64_t all = 0;
    for (const Json& number : list) all += number.get<std::int64_t>();
    return all;
  };
  std::map<std::int64_t, std::int64_t> pending = pending_by_site(report);
  for (const Json& site : report.at("sites")) {
    const auto made = site.at("total_count").get<std::int64_t>();
    const auto live = site.at("live_count").get<std::int64_t>();
    const auto id = site.at("id").get<std::int64_t>();
    const std::string name = "site " + std::to_string(id);
    if (sum(site.at("sizes")) != made) problems.push_back(name + ": sizes are not its count");
    if (sum(site.at("lifetimes")) > made - live + pending[id]) {
      problems.push_back(name + ": more life times than what was freed");
    }
  }
}

}  // namespace

Problems recount_axes(const Json& report) {
  constexpr std::array kParts{"owner",    "thread",     "stream", "range",
                              "function", "size_class", "site"};
  Problems problems;
  const std::map<Key, Sums> sums = sums_of(report);
  for (const Json& kind : report.at("kinds")) {
    for (const char* part : kParts) {
      const auto found = sums.find(key_of(part, kind));
      const Sums got = found == sums.end() ? Sums{} : found->second;
      const auto expect = [&](const char* what, const char* field, std::int64_t value) {
        const auto want = kind.at(field).get<std::int64_t>();
        if (want == value) return;
        problems.push_back("by " + std::string(part) + ", " + kind.at("kind").get<std::string>() +
                           ": " + what + " " + std::to_string(value) + " in sum, " +
                           std::to_string(want) + " in all");
      };
      expect("live bytes", "current_bytes", got.live);
      expect("bytes at the peak", "peak_bytes", got.peak);
      expect("allocations", "allocations", got.count);
    }
  }
  if (!keeps_details(report)) return problems;
  check_own_peaks(problems, report);
  check_histograms(problems, report);
  return problems;
}

}  // namespace vramscope::judge
