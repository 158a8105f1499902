// Says what is held, by owner and call site.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/between_text.h"

#include <algorithm>

#include "reporter/report/memory_name.h"
#include "reporter/view/listing/json_text.h"
#include "reporter/view/listing/site_columns.h"
#include "reporter/view/text/instant_text.h"

namespace vramscope {
namespace {

using All = std::vector<JudgedBetween>;
using Part = HeldSum HeldRow::*;

constexpr std::size_t kOwnersShown = 4;

bool is_within(const HeldSum& sum, const std::optional<std::uint64_t>& limit) {
  return !limit || sum.bytes <= *limit;
}

std::string sum_text(const HeldSum& sum) {
  return amount_text(sum.bytes) + " in " + counted(sum.count, "allocation");
}

std::string limit_text(const HeldSum& sum, const std::optional<std::uint64_t>& limit) {
  if (!limit) return "";
  const bool is_above = sum.bytes > *limit;
  return (is_above ? ", " + amount_text(sum.bytes - *limit) + " above" : ", within") +
         std::string(" the limit of ") + amount_text(*limit);
}

// Those that have a share in a part, the largest share first.
std::vector<HeldRow> rows_of_part(const std::vector<HeldRow>& all, Part part) {
  std::vector<HeldRow> rows;
  std::copy_if(all.begin(), all.end(), std::back_inserter(rows),
               [part](const HeldRow& row) { return (row.*part).count != 0; });
  std::stable_sort(rows.begin(), rows.end(), [part](const HeldRow& a, const HeldRow& b) {
    return (a.*part).bytes > (b.*part).bytes;
  });
  return rows;
}

// "by owner: PyTorch 80 %, cuBLAS 20 %".
std::string owners_line(const HeldBetween& found, Part part, std::uint64_t whole,
                        const Page& page) {
  const std::vector<HeldRow> rows = rows_of_part(found.owners, part);
  std::string text;
  for (std::size_t i = 0; i < std::min(kOwnersShown, rows.size()); ++i) {
    text += (i == 0 ? "by owner: " : ", ") + printable(rows[i].owner, page) + " " +
            percent_text((rows[i].*part).bytes, whole);
  }
  if (rows.size() <= kOwnersShown) return text;
  return text + ", " + std::to_string(rows.size() - kOwnersShown) + " more";
}

RowsBlock part_rows(const HeldBetween& found, Part part, const NameFrame& name, const Page& page,
                    const RowChoice& choice) {
  const Report& report = found.report;
  std::vector<HeldRow> rows = rows_of_part(found.sites, part);
  arrange(rows, held_columns(report, name), choice);
  Columns<HeldRow> columns{{{"REQUESTED", Table::Align::right},
                            [part](const HeldRow& row) { return amount_text((row.*part).bytes); }},
                           {{"COUNT", Table::Align::right, 2},
                            [part](const HeldRow& row) {
                              return count_text(static_cast<std::int64_t>((row.*part).count));
                            }},
                           {{"MEMORY", Table::Align::left, 1}, [&report](const HeldRow& row) {
                              return memory_name(report, row.kind, row.device);
                            }}};
  const auto bytes = [part](const HeldRow& row) { return (row.*part).bytes; };
  return rows_of_sites(report, name, columns, rows, &HeldRow::site, "WHERE", page, choice.most,
                       rest_of(rows, bytes));
}

void add_part(Document& text, const HeldBetween& found, Part part, const HeldSum& sum,
              const std::string& title, const NameFrame& name, const Page& page,
              const RowChoice& choice) {
  text.gap();
  text.title(title);
  if (sum.count == 0) return;
  text.paragraph(owners_line(found, part, sum.bytes, page));
  text.table(part_rows(found, part, name, page, choice));
}

void add_file(Document& text, const JudgedBetween& one, const NameFrame& name, const Page& page,
              const RowChoice& choice) {
  const HeldBetween& found = one.found;
  const std::string verdict = !one.limits.are_any() ? "" : one.passed() ? "passed: " : "failed: ";
  text.title(verdict + printable(one.file, page));
  text.paragraph("A: " + instant_text(found.from, page) + "; B: " + instant_text(found.to, page));
  text.paragraph("live at A: " + sum_text(found.live) + ", of which " +
                 amount_text(found.held.bytes) + " are held at B");
  text.paragraph("allocated between A and B: " + sum_text(found.allocated) + ", of which " +
                 amount_text(found.added.bytes) + " are held at B");
  add_part(
      text, found, &HeldRow::held, found.held,
      "Held: live at A and at B: " + sum_text(found.held) + limit_text(found.held, one.limits.held),
      name, page, choice);
  add_part(text, found, &HeldRow::added, found.added,
           "New: allocated between A and B, and live at B: " + sum_text(found.added) +
               limit_text(found.added, one.limits.added),
           name, page, choice);
}

Columns<HeldRow> figure_columns() {
  const auto held = within(&HeldRow::held);
  const auto added = within(&HeldRow::added);
  return {{"held_bytes", "requested bytes live at both instants", held(&HeldSum::bytes)},
          {"held_count", "number of allocations that make up these bytes", held(&HeldSum::count)},
          {"new_bytes", "requested bytes allocated between the instants and live at the second",
           added(&HeldSum::bytes)},
          {"new_count", "number of allocations that make up these bytes", added(&HeldSum::count)}};
}

Columns<AskedInstant> instant_columns() {
  const auto number = [](std::uint64_t AskedInstant::*member) {
    return [member](const AskedInstant& row) {
      return row.mark.empty() ? std::nullopt : std::optional(row.*member);
    };
  };
  return {{"at_ns", "after time 0 (the start of recording)", &AskedInstant::at_ns},
          {"mark", "name of the mark or range; `null`: a time or the end was asked for",
           [](const AskedInstant& row) {
             return row.mark.empty() ? std::nullopt : std::optional(row.mark);
           }},
          {"is_range", "it is an NVTX range, and the instant is before its first allocation",
           &AskedInstant::is_range},
          {"repetition", "its number among the marks or ranges of that name, from 1",
           number(&AskedInstant::repetition)},
          {"repetitions",
           "number of marks of that name, or of entries in the range that allocated memory",
           number(&AskedInstant::repetitions)}};
}

Columns<JudgedBetween> file_fields(const NameFrame& name, std::size_t most) {
  using Row = JudgedBetween;
  const auto of = within(&Row::found);
  const auto limits = within(&Row::limits);
  Columns<HeldRow> owner{{"owner", "owner, as `owners` names it", &HeldRow::owner}};
  append(owner, figure_columns());
  const auto add_sites = [name, most](JsonText& json, const Row& row) {
    add_value(json, first_rows(row.found.sites, most), held_columns(row.found.report, name));
  };
  return {{"file", "trace", &Row::file},
          {"passed", "every limit holds", &Row::passed},
          {"from", "first instant", instant_columns(), of(&HeldBetween::from)},
          {"to", "second instant", instant_columns(), of(&HeldBetween::to)},
          {"live_bytes", "requested bytes live at the first instant",
           of(&HeldBetween::live, &HeldSum::bytes)},
          {"live_count", "number of allocations that make up these bytes",
           of(&HeldBetween::live, &HeldSum::count)},
          {"held_bytes", "of these, requested bytes live at the second instant",
           of(&HeldBetween::held, &HeldSum::bytes)},
          {"held_count", "number of allocations that make up these bytes",
           of(&HeldBetween::held, &HeldSum::count)},
          {"held_limit_bytes", "`--max-held`; `null`: none", limits(&BetweenLimits::held)},
          {"allocated_bytes", "requested bytes allocated between the instants",
           of(&HeldBetween::allocated, &HeldSum::bytes)},
          {"allocated_count", "number of allocations that make up these bytes",
           of(&HeldBetween::allocated, &HeldSum::count)},
          {"new_bytes", "of these, requested bytes live at the second instant",
           of(&HeldBetween::added, &HeldSum::bytes)},
          {"new_count", "number of allocations that make up these bytes",
           of(&HeldBetween::added, &HeldSum::count)},
          {"new_limit_bytes", "`--max-new`; `null`: none", limits(&BetweenLimits::added)},
          {"owners", "all owners of what is held at the second instant, the largest first", owner,
           of(&HeldBetween::owners)},
          {{.name = "sites",
            .doc = "call sites of what is held at the second instant, the largest first",
            .type = "objects",
            .fields = fields_of(held_columns(Report(), name))},
           add_sites}};
}

}  // namespace

bool JudgedBetween::passed() const {
  return is_within(found.held, limits.held) && is_within(found.added, limits.added);
}

Columns<HeldRow> held_columns(const Report& report, const NameFrame& name) {
  using Row = HeldRow;
  Columns<Row> columns{kind_column<Row>(&Row::kind),
                       device_column<Row>(&Row::device),
                       {"owner", "owner of the call site's memory", &Row::owner}};
  append(columns, figure_columns());
  return with_site<Row>(report, name, &Row::site, columns);
}

Columns<All> between_fields(const NameFrame& name, std::size_t most) {
  const auto passed = [](const All& all) {
    return std::all_of(all.begin(), all.end(), [](const auto& one) { return one.passed(); });
  };
  return {{"passed", "every limit holds in every trace", passed},
          {"traces", "one for each trace", file_fields(name, most),
           [](const All& all) -> const All& { return all; }}};
}

std::string between_json(const All& all, const NameFrame& name, std::size_t most) {
  JsonText json;
  add_fields(json.object(), all, between_fields(name, most));
  return json.end().text();
}

Document between_text(const All& all, const NameFrame& name, const Page& page,
                      const RowChoice& choice) {
  Document text;
  for (const JudgedBetween& one : all) {
    if (!text.is_empty()) text.gap();
    add_file(text, one, name, page, choice);
  }
  return text;
}

void add_between_csv(CsvText& csv, const All& all, const NameFrame& name, const RowChoice& choice) {
  for (const JudgedBetween& one : all) {
    Columns<HeldRow> columns{{"file", "trace", [&](const HeldRow&) { return one.file; }}};
    append(columns, held_columns(one.found.report, name));
    add_rows(csv, chosen_rows(one.found.sites, columns, choice), columns);
  }
}

}  // namespace vramscope
