// Checks as JSON and as CSV.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/check_text.h"

#include "reporter/view/listing/site_columns.h"

namespace vramscope {

namespace {

constexpr std::string_view kUnits[] = {"bytes", "count"};
constexpr const char* kInUnit = "`unit`";

}  // namespace

Columns<Check> check_columns(const std::string& file) {
  using Row = Check;
  const InUnit in_unit(kInUnit);
  return {
      {"file", "report, or the first argument if several reports are judged together",
       [file](const Row&) { return file; }},
      {"pid", "process that was checked; `null`: the whole report",
       [](const Row& row) { return if_not_zero(row.process.pid); }},
      {"rank", "its rank; `null`: none", [](const Row& row) { return if_known(row.process.rank); }},
      {"what", "in words: `peak of GPU 0`", &Row::what},
      {"passed", "the limit holds", &Row::passed},
      {"unit",
       "unit of the numbers: `bytes` (requested, except for reserved and used bytes), or `count` "
       "(allocations or calls)",
       [](const Row& row) { return kUnits[row.is_count ? 1 : 0]; }, OneOf(kUnits)},
      {"value",
       "value in the report; for several kinds together, the upper bound of what the process held "
       "at one time; `null`: not known",
       [](const Row& row) { return row.is_least ? std::nullopt : std::optional(row.value); },
       in_unit},
      {"at_least",
       "lower bound of what it held at one time; equal to `value` if that is known, for example "
       "from a trace",
       [](const Row& row) { return row.at_least.value_or(row.value); }, in_unit},
      {"limit", "largest value that passes", &Row::limit, in_unit},
      {"baseline", "value of the baseline; `null`: an absolute limit was given", &Row::baseline,
       in_unit}};
}

namespace {

using AllChecked = std::vector<Checked>;

Columns<Check> with_sites(const std::string& file, std::size_t most) {
  using Site = CheckedSite;
  const Columns<Site> site{
      {"amount", "how much they hold, or by how much they grew", &Site::amount, InUnit(kInUnit)},
      {"sites",
       "numbers of its sites in the report; if several reports were added up for `--against`, "
       "numbers in the sum",
       &Site::numbers},
      {"frames", "call stack, innermost first", &Site::frames}};
  using Kinds = CheckedKind;
  const Columns<Kinds> kind{kind_column<Kinds>(&Kinds::kind),
                            {"value", "requested bytes at the kind's own peak", &Kinds::value},
                            {"baseline", "the same in the baseline", &Kinds::baseline}};
  Columns<Check> fields = check_columns(file);
  fields.push_back(
      {"kinds", "with `--against`, the kinds in a sum of kinds; these are not checked on their own",
       kind, &Check::kinds});
  fields.push_back({"sites", "call stacks responsible for the value, the largest first", site,
                    [most](const Check& row) { return first_rows(row.sites, most); }});
  return fields;
}

// file, pid, rank of a process, and what is said of it.
template <class Row>
Columns<Row> of_process(const Columns<Row>& more) {
  Columns<Row> fields{
      {"file", "report", &Row::file},
      {"pid", "process id", [](const Row& row) { return row.process.pid; }},
      {"rank", "`null`: none", [](const Row& row) { return if_known(row.process.rank); }}};
  append(fields, more);
  return fields;
}

// Of all reports.
template <class Item>
auto joined(std::vector<Item> Checked::*list) {
  return [list](const AllChecked& all) {
    std::vector<Item> items;
    for (const Checked& one : all) {
      items.insert(items.end(), (one.*list).begin(), (one.*list).end());
    }
    return items;
  };
}

}  // namespace

Columns<std::vector<Checked>> check_fields(std::size_t most) {
  const auto add_checks = [most](JsonText& json, const AllChecked& all) {
    json.array();
    for (const Checked& one : all) {
      const Columns<Check> columns = with_sites(one.file, most);
      for (const Check& check : one.checks) add_value(json, check, columns);
    }
    json.end();
  };
  return {{"passed", "every limit holds", all_passed},
          {{.name = "checks",
            .doc = "one for each limit and process",
            .type = "objects",
            .fields = fields_of(with_sites("", 0))},
           add_checks},
          {"out_of_memory",
           "processes that ran out of memory; this fails the check only with `--no-oom`",
           of_process<OutOfMemory>(
               {{"calls", "number of allocating calls that failed because memory ran out",
                 &OutOfMemory::calls}}),
           joined(&Checked::out_of_memory)},
          {"died", "processes that were killed or died; this does not fail the check",
           of_process<DeadProcess>(
               {{"ended_by", "name of the signal; empty: not known", &DeadProcess::ended_by}}),
           joined(&Checked::deaths)},
          {"unfinished",
           "reports that are not the final ones of their runs; these fail the check; empty with "
           "`--interim`",
           Columns<Unfinished>{
               {"file", "report", &Unfinished::file},
               {"why", "why, in words: when the report was written, or which newer report exists",
                &Unfinished::why}},
           joined(&Checked::unfinished)}};
}

void add_check_csv(CsvText& csv, const std::vector<Checked>& all) {
  for (const Checked& one : all) add_rows(csv, one.checks, check_columns(one.file));
}

std::string check_json(const std::vector<Checked>& all, std::size_t most) {
  JsonText json;
  add_fields(json.object(), all, check_fields(most));
  return json.end().text();
}

}  // namespace vramscope
