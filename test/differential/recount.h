// Recounts a report: it must agree with itself, with the reports before it and with its program.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <map>
#include <string>
#include <vector>

#include "test/differential/known.h"

namespace vramscope::differential {

using Json = nlohmann::json;
using Problems = std::vector<std::string>;

// Blocks tile segments, counters equal a recount, sites and the ledger sum to the same bytes, a
// peak is at least the current value. The rules of test/end_to_end/recount.py. `amid_calls`: other
// threads may have been at work; then memory of the driver's own whose free has not returned is
// listed beside what is at its address now (FORMAT.md, "segments and blocks").
[[nodiscard]] Problems recount(const Json& report, bool amid_calls);

// Axes, owners and sites add up to each kind's numbers.
[[nodiscard]] Problems recount_axes(const Json& report);

// Calls, bytes and sites are those that the program knows. `stacks`: sites can be told apart.
[[nodiscard]] Problems compare(const Json& report, const Known& known, bool stacks);

// What only grows, across the reports of one process in their order: peaks and totals, and no peak
// below a current value that an earlier one showed.
class History {
 public:
  [[nodiscard]] Problems next(const Json& report);

 private:
  std::map<std::string, std::int64_t> least_;
};

}  // namespace vramscope::differential
