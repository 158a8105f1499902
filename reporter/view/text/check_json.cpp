// Checks as JSON and as CSV.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/listing/json_text.h"
#include "reporter/view/text/check_text.h"

namespace vramscope {

Columns<Check> check_columns(const std::string& file) {
  using Row = Check;
  const auto baseline = [](const Row& row) {
    return row.baseline ? CellValue(*row.baseline) : CellValue();
  };
  const auto pid = [](const Row& row) {
    return row.process.pid == 0 ? CellValue() : CellValue(row.process.pid);
  };
  return {{"file", [file](const Row&) { return file; }},
          {"pid", pid},
          {"rank", [](const Row& row) { return if_known(row.process.rank); }},
          {"what", [](const Row& row) { return row.what; }},
          {"passed", [](const Row& row) { return row.passed(); }},
          {"unit", [](const Row& row) { return std::string(row.is_count ? "count" : "bytes"); }},
          {"value", [](const Row& row) { return row.value; }},
          {"at_least", [](const Row& row) { return row.at_least.value_or(row.value); }},
          {"limit", [](const Row& row) { return row.limit; }},
          {"baseline", baseline}};
}

void add_check_csv(CsvText& csv, const std::vector<Checked>& all) {
  for (const Checked& one : all) add_rows(csv, one.checks, check_columns(one.file), 0);
}

std::string check_json(const std::vector<Checked>& all, std::size_t most) {
  JsonText json;
  json.object().field("passed", all_passed(all)).key("checks").array();
  for (const Checked& one : all) {
    for (const Check& check : one.checks) {
      add_fields(json.object(), check, check_columns(one.file));
      json.key("sites").array();
      for (std::size_t i = 0; i < rows_shown(check.sites.size(), most); ++i) {
        const CheckedSite& site = check.sites[i];
        json.object().field("amount", site.amount).key("sites").array();
        for (const std::int64_t number : site.numbers) json.value(number);
        json.end().key("frames").array();
        for (const std::string& frame : site.frames) json.value(frame);
        json.end().end();
      }
      json.end().end();
    }
  }
  json.end().key("out_of_memory").array();
  for (const Checked& one : all) {
    for (const OutOfMemory& out : one.out_of_memory) {
      json.object().field("file", out.file).field("pid", out.process.pid).key("rank");
      json.cell(if_known(out.process.rank)).field("calls", out.calls).end();
    }
  }
  json.end().key("died").array();
  for (const Checked& one : all) {
    for (const DeadProcess& dead : one.deaths) {
      json.object().field("file", dead.file).field("pid", dead.process.pid).key("rank");
      json.cell(if_known(dead.process.rank)).field("ended_by", dead.ended_by).end();
    }
  }
  json.end().key("unfinished").array();
  for (const Checked& one : all) {
    for (const Unfinished& later : one.unfinished) {
      json.object().field("file", later.file).field("why", later.why).end();
    }
  }
  return json.end().end().text();
}

}  // namespace vramscope
