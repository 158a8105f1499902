// The naive judge of a report: it must agree with itself and with the reports before it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <map>
#include <string>
#include <vector>

// Shares nothing with the product: it reads the JSON as FORMAT.md describes it.
namespace vramscope::judge {

using Json = nlohmann::json;
using Problems = std::vector<std::string>;

// Whether other threads of the program may have been at work while the report was made; then memory
// of the driver's own whose free has not returned is listed beside what is at its address now
// (FORMAT.md, "segments and blocks").
enum class Taken : bool { between_calls, amid_calls };

// A signal handler ended the process while its thread held a lock: parts are missing, a warning
// says so, and nothing below is asked of the report.
[[nodiscard]] bool is_partial(const Json& report);

// Blocks tile segments, counters equal a recount, sites and the ledger sum to the same bytes, a
// peak is at least the current value, axes, owners and sites add up to each kind's numbers.
[[nodiscard]] Problems recount(const Json& report, Taken taken);

// The part of recount() that concerns what tells memory apart.
[[nodiscard]] Problems recount_axes(const Json& report);

// What only grows, across the reports of one process in their order: peaks and totals, and no peak
// below a current value that an earlier one showed.
class History {
 public:
  [[nodiscard]] Problems next(const Json& report);

 private:
  std::map<std::string, std::int64_t> least_;
};

}  // namespace vramscope::judge
