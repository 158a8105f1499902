// Lists findings as text, JSON and CSV.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/doctor/findings_text.h"

#include <algorithm>

#include "reporter/view/listing/columns.h"

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

Columns<Finding> columns() {
  return {{"state",
           [](const Finding& row) {
             return std::string(kFindingStateNames[static_cast<std::size_t>(row.state)]);
           }},
          {"subject", [](const Finding& row) { return row.subject; }},
          {"found", [](const Finding& row) { return row.found; }},
          {"advice", [](const Finding& row) { return row.advice; }}};
}

std::vector<Finding> rows(const Findings& findings, const RowChoice& choice) {
  std::vector<Finding> all = findings.in_order();
  arrange(all, columns(), choice);
  all.resize(rows_shown(all.size(), choice.most));
  return all;
}

std::string sum_of(const Findings& findings) {
  const std::size_t stops = findings.count(FindingState::stops);
  const std::size_t limits = findings.count(FindingState::limits);
  std::string text = stops == 0 ? "Nothing here stops recording" : counted(stops, "finding");
  if (stops != 0) text += stops == 1 ? " stops recording" : " stop recording";
  if (limits != 0) text += "; " + std::to_string(limits) + (limits == 1 ? " limits" : " limit");
  return text + (limits != 0 ? " what it can do" : "");
}

}  // namespace

std::string findings_text(const Findings& findings, const Page& page, const RowChoice& choice) {
  using enum Table::Align;
  Table table({{"STATE", left}, {"SUBJECT", left}, {"FOUND, AND WHAT TO DO", left}});
  table.place_last(Table::Last::wrapped);
  for (const Finding& row : rows(findings, choice)) {
    const std::string line = row.found + (row.advice.empty() ? "" : "; " + row.advice);
    table.add({std::string(kFindingStateNames[static_cast<std::size_t>(row.state)]), row.subject,
               printable(line, page)});
  }
  return table.text(page) + "\n" + sum_of(findings) + ".\n";
}

std::string findings_json(const Findings& findings, const RowChoice& choice) {
  JsonText json;
  add_objects(json.array(), rows(findings, choice), columns(), choice.most);
  return json.end().text();
}

void add_findings_csv(const Findings& findings, CsvText& csv, const RowChoice& choice) {
  add_rows(csv, rows(findings, choice), columns(), choice.most);
}

std::vector<std::string> finding_columns() { return names_of(columns()); }

}  // namespace vramscope
