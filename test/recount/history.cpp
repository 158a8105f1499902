// A report against those before it.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>

#include "test/recount/recount.h"

namespace vramscope::judge {
namespace {

// Rows of the ledger that no call accounts for are what the report measured: they have no past.
bool is_measured(const Json& row) {
  const std::string kind = row.at("kind").get<std::string>();
  return kind == "cached" || kind == "unaccounted" || kind == "others";
}

std::int64_t number(const Json& value, const char* name) {
  return value.at(name).get<std::int64_t>();
}

}  // namespace

Problems History::next(const Json& report) {
  if (is_partial(report)) return {};
  Problems problems;
  const auto grow = [&](const std::string& name, std::int64_t value, const char* what) {
    std::int64_t& least = least_[name];
    if (value < least) problems.push_back(name + what);
    least = std::max(least, value);
  };
  const auto add = [&](const std::string& where, const Json& stats) {
    for (const auto& [name, value] : stats.items()) {
      const auto at = value.get<std::int64_t>();
      if (name.ends_with(".current")) {
        std::int64_t& least = least_[where + name.substr(0, name.size() - 7) + "peak"];
        least = std::max(least, at);
      }
      const bool grows = name.ends_with(".peak") || name.ends_with(".allocated") ||
                         name.ends_with(".freed") || name.starts_with("num_");
      if (grows) grow(where + name, at, " fell since the report before");
    }
  };
  for (const Json& device : report.at("devices")) {
    add("device " + std::to_string(number(device, "index")) + " ", device.at("memory_stats"));
  }
  add("host ", report.at("host").at("memory_stats"));
  for (const Json& row : report.at("ledger")) {
    const std::string name = "ledger " + std::to_string(number(row, "device")) + " " +
                             row.at("kind").get<std::string>() + " " +
                             row.at("owner").get<std::string>();
    if (!is_measured(row)) {
      grow(name + " peak", number(row, "peak_bytes"), " fell since the report before");
    }
    grow(name + " calls", number(row, "calls"), " fell since the report before");
  }
  return problems;
}

}  // namespace vramscope::judge
