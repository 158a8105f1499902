// Lists findings as text, JSON and CSV.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/doctor/findings_text.h"

#include <algorithm>

namespace vramscope {

std::vector<Finding> Findings::in_order() const {
  std::vector<Finding> sorted = all_;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Finding& a, const Finding& b) { return a.state < b.state; });
  return sorted;
}

std::size_t Findings::count(FindingState state) const {
  const auto is_so = [state](const Finding& finding) { return finding.state == state; };
  return static_cast<std::size_t>(std::count_if(all_.begin(), all_.end(), is_so));
}

namespace {

std::string sum_of(const Findings& findings) {
  const std::size_t stops = findings.count(FindingState::stops);
  const std::size_t limits = findings.count(FindingState::limits);
  std::string text = stops == 0 ? "Nothing here stops recording" : counted(stops, "finding");
  if (stops != 0) text += stops == 1 ? " stops recording" : " stop recording";
  if (limits != 0)
    text += "; " + counted(limits, "finding") + (limits == 1 ? " limits it" : " limit it");
  return text;
}

}  // namespace

Columns<Finding> finding_columns() {
  using Row = Finding;
  const auto found_and_advice = [](const Row& row) {
    return row.found + (row.advice.empty() ? "" : "; " + row.advice);
  };
  return {
      {"state", "what it does to recording", &Row::state, Titled("STATE"),
       OneOf(kFindingStateNames)},
      {"subject", "what was looked at", &Row::subject, Titled("SUBJECT")},
      {"found", "what was found", &Row::found, Titled("FOUND, AND WHAT TO DO"), found_and_advice},
      {"advice", "what to do; empty: nothing", &Row::advice}};
}

std::string findings_text(const Findings& all, const std::vector<Finding>& shown,
                          const Page& page) {
  Table table = table_of(finding_columns(), shown, page);
  table.place_last(Table::Last::wrapped);
  return table.text(page) + "\n" + sum_of(all) + ".\n";
}

}  // namespace vramscope
