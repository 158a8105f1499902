// checks_of() compares a report with limits; check_text() says which of them do not hold, and whose
// memory it is.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reporter/view/text/columns.h"
#include "reporter/view/text/digest.h"
#include "reporter/view/text/format.h"
#include "reporter/view/text/frames.h"
#include "reporter/view/text/suppressions.h"

namespace vramscope {

// All in bytes but the number of allocations. Nothing: no such limit.
struct CheckLimits {
  std::optional<std::uint64_t> peak = {};   // requested, of each device
  std::optional<std::uint64_t> leak = {};   // never freed, all kinds, without what is suppressed
  std::optional<std::uint64_t> total = {};  // ever allocated, all kinds
  std::optional<std::uint64_t> allocations = {};
};

// A place that is responsible: bytes that it holds or by which it grew, or its allocations.
struct CheckedSite {
  std::int64_t amount = 0;
  std::vector<std::string> frames;         // innermost first
  std::vector<std::int64_t> numbers = {};  // of its sites in the report's file
};

struct Check {
  std::string what;  // "peak of GPU 0"
  std::uint64_t value = 0;
  std::uint64_t limit = 0;
  std::optional<std::uint64_t> baseline = {};  // that the limit was made from
  bool is_count = false;
  std::vector<CheckedSite> sites = {};  // the largest first
  [[nodiscard]] bool passed() const { return value <= limit; }
};

[[nodiscard]] Columns<Check> check_columns(const std::string& file);

// The checks of one report, or of one with its baseline.
struct Checked {
  std::string file;
  std::string next;  // the command that tells more
  std::vector<Check> checks;
};

[[nodiscard]] Checked checks_of(const Report& report, const std::string& file,
                                const CheckLimits& limits, const Suppressions& suppressions,
                                const NameFrame& name);
// The peak of each kind and device, and what was never freed, may be so much above the baseline's.
[[nodiscard]] Checked checks_against(const Report& report, const Report& baseline,
                                     const std::string& file, std::uint64_t tolerance_percent,
                                     const Suppressions& suppressions, const NameFrame& name);

[[nodiscard]] bool all_passed(const std::vector<Checked>& all);

// One line where everything holds. most: sites of each check, 0 for all. Each ends with a newline.
[[nodiscard]] std::string check_text(const std::vector<Checked>& all, const Page& page,
                                     std::size_t most);
[[nodiscard]] std::string check_json(const std::vector<Checked>& all, std::size_t most);
// A row for each check.
void add_check_csv(CsvText& csv, const std::vector<Checked>& all);

}  // namespace vramscope
