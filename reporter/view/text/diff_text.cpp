// Differences as rows.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/diff_text.h"

#include <algorithm>
#include <sstream>
#include <vector>

#include "reporter/report/memory_name.h"
#include "reporter/view/analysis/diff/one_report.h"
#include "reporter/view/analysis/report_figures.h"
#include "reporter/view/analysis/site_usage.h"
#include "reporter/view/listing/json_text.h"
#include "reporter/view/listing/site_columns.h"
#include "reporter/view/listing/site_listing.h"
#include "reporter/view/text/call_changes_text.h"
#include "reporter/view/text/change_text.h"
#include "reporter/view/text/other_gpus_text.h"
#include "reporter/view/text/peak_use_text.h"
#include "reporter/view/text/words.h"

namespace vramscope {
namespace {

using enum Table::Align;

std::string side_text(const DiffSide& side) {
  return side.is_there ? amount_text(side.bytes) : "-";
}

// "new" is no name in C++.
std::string word(Change change) {
  return change == Change::fresh ? "new"
                                 : std::string(kChangeNames[static_cast<std::size_t>(change)]);
}

// What each of the first rows is of, told apart in at most `room` columns.
std::vector<std::string> where_texts(const Differences& found, std::size_t shown, DiffBy by,
                                     std::size_t room) {
  std::vector<std::string> names;
  std::vector<SharedCallers> stacks;
  for (std::size_t i = 0; i < shown; ++i) {
    names.push_back(found.rows[i].name);
    stacks.push_back(found.rows[i].callers());
  }
  if (by != DiffBy::site) return names;
  return stack_texts(stacks, room, found.equal_stacks);
}

constexpr std::string_view kWords[] = {"new", "gone", "grown", "shrunk", "equal"};

Column<Difference> gpu_column() {
  Column<Difference> column = device_column<Difference>(&Difference::device);
  column.doc =
      "number of the GPU in AFTER (another, if only BEFORE has it); 0 for memory of no device";
  return column;
}

// Of a row, before what its sides hold.
Columns<Difference> change_columns(const char* doc) {
  using Row = Difference;
  const auto what = [](const Row& row) { return row.change() == 0 ? "equal" : word(row.what()); };
  const auto in_text = [](const Row& row) { return word(row.what()); };
  return {{"what", doc, what, Titled("WHAT", 1), in_text, OneOf(kWords)},
          kind_column<Row>(&Row::kind),
          gpu_column(),
          {"name", "name of the owner or function; else empty", &Row::name},
          {"change_bytes", "after minus before", &Row::change, Titled("CHANGE"),
           [](const Row& row) { return change_text(row.change()); }},
          {{"BEFORE", right}, [](const Row& row) { return side_text(row.before); }},
          {{"AFTER", right}, [](const Row& row) { return side_text(row.after); }},
          {"memory", "as texts call it: `GPU 0 managed`", &Row::memory, Titled("MEMORY")}};
}

// Those of a row's text before what it is of.
Columns<Difference> text_columns() {
  return picked(change_columns(""), {"CHANGE", "BEFORE", "AFTER", "WHAT", "MEMORY"});
}

// The first rows with what each is of, as far as the page has room for that.
Table table_of(const Differences& found, std::size_t shown, DiffBy by, const Page& page) {
  // Of kinds the column before it has said all.
  const char* const where = by == DiffBy::site ? "WHERE" : by == DiffBy::kind ? "" : "NAME";
  Table table(titles_of(text_columns(), {{where}}));
  table.place_last(Table::Last::below);
  for (const Difference& row : first_rows(found.rows, shown)) {
    table.add(text_cells(text_columns(), row, page));
  }
  table.fill_last(page, [&](std::size_t room) { return where_texts(found, shown, by, room); });
  return table;
}

// Each row with all frames of its stack below it, a line each.
std::string rows_in_full(const Differences& found, std::size_t shown, const Page& page) {
  Columns<Difference> columns = text_columns();
  keep(columns, "WHAT");
  return table_of(columns, found.rows, page, shown).text(page, [&](std::size_t i) {
    const std::vector<std::string>& frames = found.rows[i].listed();
    std::string text;
    for (const std::string& frame : frames) text += "      " + printable(frame, page) + "\n";
    return frames.empty() ? "      unknown\n" : text;
  });
}

void add_rows_of(Document& text, const Differences& found, const DiffOf& of, const Page& page) {
  const std::size_t shown = rows_shown(found.rows.size(), of.most);
  const std::string more = and_more(found.rows.size() - shown, "row");
  if (page.stacks == Stacks::in_full && of.by == DiffBy::site) {
    return text.drawing(rows_in_full(found, shown, page) + more);
  }
  const Table table = table_of(found, shown, of.by, page);
  text.drawing(table.text(page) + table.left_out(page) + more);
}

// ", +13.1 %".
constexpr const char* when_text(DiffAt at) {
  switch (at) {
    case DiffAt::peak:
      return "at the peak";
    case DiffAt::end:
      return "when the reports were made";
    case DiffAt::total:
      return "allocated in all";
  }
  return "";
}

// The frames say so of a module that has another build id than it had in the run.
std::string nameless_text(const Differences& found) {
  const bool any = std::any_of(found.rows.begin(), found.rows.end(), [](const Difference& row) {
    const std::vector<std::string>& frames = row.frames();
    return std::any_of(frames.begin(), frames.end(),
                       [](const std::string& frame) { return frame.ends_with(" (replaced)"); });
  });
  if (!any) return "";
  return "(replaced): the file has changed since the run, so its functions have no names and match "
         "only functions of the same build.";
}

std::string own_lines_text(const Differences& found) {
  if (!found.by_own_lines) return "";
  return "Rows are lines of the program's own Python files, because a snapshot and a report name "
         "other frames differently. A snapshot of PyTorch counts tensors, a report counts what "
         "PyTorch asked of the driver.";
}

// "8 rows matched by functions alone, in files of other names: server.py -> server3.py".
std::string renamed_text(const Differences& found) {
  if (found.by_functions == 0) return "";
  constexpr std::size_t kMostFiles = 4;
  std::string files;
  const std::size_t shown = std::min(found.renamed.size(), kMostFiles);
  for (std::size_t i = 0; i < shown; ++i) {
    const RenamedFile& file = found.renamed[i];
    files += (i == 0 ? ": " : ", ") + file.before + " -> " + file.after;
  }
  if (shown < found.renamed.size()) {
    files += " and " + counted(found.renamed.size() - shown, "more file");
  }
  if (!files.empty()) files = ", in files of other names" + files;
  return counted(found.by_functions, "row") + " matched by functions alone" + files;
}

std::string file_text(const std::string& file, const std::string& end) {
  return file + (end.empty() ? "" : ", which " + end);
}

bool is_above(std::uint64_t limit, std::int64_t change) {
  return change > 0 && static_cast<std::uint64_t>(change) > limit;
}

std::string name_of(const MemorySum& sum) { return sum.is_of_device ? sum.gpu : "host memory"; }

std::size_t rows_above(const Differences& found, std::uint64_t limit) {
  return static_cast<std::size_t>(
      std::count_if(found.rows.begin(), found.rows.end(),
                    [&](const Difference& row) { return is_above(limit, row.change()); }));
}

// "Above the threshold of 1.00 MiB: GPU 0 grew by 16.0 MiB, and 2 sites grew."
std::string limit_text(const Differences& found, const DiffOf& of) {
  if (!of.limit) return "";
  const std::string limit = "the threshold of " + amount_text(*of.limit);
  if (!crosses(found, *of.limit)) return "Nothing grew by more than " + limit + ".";
  std::string what;
  for (const MemorySum& sum : found.sums) {
    if (!is_above(*of.limit, sum.change())) continue;
    what += (what.empty() ? "" : ", ") + name_of(sum) + " grew by " + bytes_text(sum.change());
  }
  if (const std::size_t rows = rows_above(found, *of.limit); rows != 0) {
    const std::string_view of_what = kDiffByNames[static_cast<std::size_t>(of.by)];
    what += (what.empty() ? "" : ", and ") + counted(rows, of_what) + " grew";
  }
  return "Above " + limit + ": " + what + ".";
}

// Of a device with several kinds their sum, and each kind.
void add_memory(Document& text, const Differences& found) {
  if (found.memory.empty()) text.paragraph("no memory was held in either");
  for (const MemorySum& sum : found.sums) {
    if (!sum.is_of_device || sum.kinds < 2) continue;
    const char* const all =
        sum.is_of_one_instant ? ", all kinds together  " : ", sum of its peaks  ";
    text.paragraph(whole_text(name_of(sum) + all, sum.before, sum.after));
  }
  for (const Difference& memory : found.memory) {
    text.paragraph(whole_text(memory.memory + "  ", memory.before.bytes, memory.after.bytes));
  }
}

// Where kinds of one device or of the host have rows of their own.
std::string instants_text(const Differences& found, const DiffOf& of) {
  const bool are_several = std::any_of(found.sums.begin(), found.sums.end(),
                                       [](const auto& sum) { return sum.kinds > 1; });
  if (of.at != DiffAt::peak || of.by == DiffBy::kind || !are_several) return "";
  return "Each row is at the peak of its own kind of memory. These peaks may be at different "
         "times, "
         "so rows of several kinds may add up to more than the kinds held together at any time.";
}

// "at the end  GPU 0  24.0 MiB -> 0 B (-24.0 MiB, -100 %): vramscope diff --at end"
std::string at_end_text(const DiffOf& of) {
  std::string text;
  for (const Difference& memory : of.memory_at_end) {
    if (memory.change() == 0) continue;
    text += (text.empty() ? "" : ", ") +
            whole_text(memory.memory + " ", memory.before.bytes, memory.after.bytes);
  }
  return text.empty() ? "" : "at the end  " + text + ": vramscope diff --at end";
}

}  // namespace

void describe_sides(DiffOf& of, const Report& before, const Report& after) {
  of.other_gpus = other_gpus(before, after);
  of.is_one_report = is_one_report(before, after);
  of.before_has_history = tells_frees(before);
  of.after_has_history = tells_frees(after);
  of.before_processes = std::max<std::size_t>(before.processes.size(), 1);
  of.after_processes = std::max<std::size_t>(after.processes.size(), 1);
}

bool crosses(const Differences& found, std::uint64_t limit) {
  return rows_above(found, limit) != 0 ||
         std::any_of(found.sums.begin(), found.sums.end(),
                     [&](const MemorySum& sum) { return is_above(limit, sum.change()); });
}

Document diff_text(const Differences& found, const DiffOf& of, const Page& page) {
  Document text;
  text.title(std::string("Requested bytes ") + when_text(of.at));
  text.line("  from " + file_text(of.before, of.before_end));
  text.line("  to   " + file_text(of.after, of.after_end));
  text.paragraph(other_gpus_text(of.other_gpus));
  text.gap();
  add_memory(text, found);
  text.append(use_changes_text(of.uses));
  text.paragraph(at_end_text(of));
  text.paragraph(calls_changed_text(of.before_calls, of.after_calls));
  text.gap();
  const std::string of_what(kDiffByNames[static_cast<std::size_t>(of.by)]);
  if (found.rows.empty()) {
    text.line("No " + of_what + " changed.");
  } else {
    add_rows_of(text, found, of, page);
    text.paragraph(instants_text(found, of));
  }
  text.paragraph(own_lines_text(found));
  text.paragraph(renamed_text(found));
  text.paragraph(nameless_text(found));
  if (found.equal != 0 && !found.rows.empty()) {
    text.line("  " + counted(found.equal, "unchanged " + of_what) + " not listed");
  }
  text.append(peak_uses_text(of.use_before, of.use_after,
                             of.is_one_report ? Sides::one_report : Sides::two_reports, page));
  Document limit;
  limit.sentence(limit_text(found, of));
  text.append_apart(limit);
  text.next("peak", of.after);
  return text;
}

namespace {

Columns<DiffSide> side_columns() {
  return {{"bytes", "requested", &DiffSide::bytes},
          {"count", "allocations", &DiffSide::count},
          {"sites", "numbers of its sites in that report's file", &DiffSide::sites}};
}

// by: site: with call stacks.
Columns<Difference> row_fields(const char* doc, DiffBy by) {
  Columns<DiffSide> side = side_columns();
  if (by == DiffBy::site) {
    side.push_back({"frames", "`--by site` only: call stack, innermost first", &DiffSide::listed});
    side.back().is_optional = true;
  }
  const auto of = [](DiffSide Difference::*which) {
    return
        [which](const Difference& row) { return (row.*which).is_there ? &(row.*which) : nullptr; };
  };
  Columns<Difference> fields = change_columns(doc);
  fields.push_back({"before", "bytes in BEFORE; `null`: absent", side, of(&Difference::before)});
  fields.push_back({"after", "in AFTER; `null`: not there", side, of(&Difference::after)});
  return fields;
}

struct DeviceUses {
  std::uint16_t device = 0;
  std::vector<PeakUsePair> parts;
};

std::vector<DeviceUses> device_uses(const DiffOf& of) {
  std::vector<DeviceUses> uses;
  for (const PeakUse& after : of.use_after) {
    for (const PeakUse& before : of.use_before) {
      if (before.device == after.device) uses.push_back({after.device, pairs_of(before, after)});
    }
  }
  return uses;
}

}  // namespace

Columns<Differences> diff_fields(const DiffOf& of) {
  using All = Differences;
  const Columns<RenamedFile> renamed{
      {"before", "name in BEFORE", &RenamedFile::before},
      {"after", "name in AFTER", &RenamedFile::after},
      {"sites", "number of sites with this file in their stacks", &RenamedFile::rows}};
  const Columns<DeviceUses> uses{
      {"device", "number of the GPU in AFTER", &DeviceUses::device},
      {"parts", "parts that add up to the GPU's use", peak_use_pair_columns(), &DeviceUses::parts}};
  return {
      {"before", "BEFORE, as typed", [&of](const All&) { return of.before; }},
      {"after", "AFTER, as typed", [&of](const All&) { return of.after; }},
      {"before_processes", "processes whose figures are added in BEFORE; each has its own peak",
       [&of](const All&) { return of.before_processes; }},
      {"after_processes", "the same in AFTER", [&of](const All&) { return of.after_processes; }},
      {"before_has_history",
       "false: BEFORE is a snapshot without history; with `at` `peak` or `total`, what was live "
       "then is compared",
       [&of](const All&) { return of.before_has_history; }},
      {"after_has_history", "the same of AFTER",
       [&of](const All&) { return of.after_has_history; }},
      {"by", "what is compared", [&of](const All&) { return of.by; }, OneOf(kDiffByNames)},
      {"at", "instant that is compared", [&of](const All&) { return of.at; }, OneOf(kDiffAtNames)},
      {"before_bytes", "requested bytes of all memory in BEFORE", &All::before_bytes},
      {"after_bytes", "the same in AFTER", &All::after_bytes},
      {"limit_bytes", "threshold; `null`: none", [&of](const All&) { return of.limit; }},
      {"crossed", "something grew by more than `limit_bytes`",
       [&of](const All& found) { return of.limit && crosses(found, *of.limit); }},
      {"memory", "totals of each kind and device", row_fields("how it changed", DiffBy::kind),
       &All::memory},
      {"devices",
       "GPUs that both reports describe, when peaks of all memory are compared. Each value is the "
       "peak of the GPU's memory or, if that is not known, an upper bound",
       use_change_fields(), [&of](const All&) { return of.uses; }},
      {"other_gpus",
       "GPUs that are compared because they have the same number, but are different devices",
       other_gpu_columns(), [&of](const All&) { return of.other_gpus; }},
      {"device_use", "parts of each GPU's use at its peak, in both reports; empty with a filter",
       uses, [&of](const All&) { return device_uses(of); }},
      {"equal", "number of rows left out because nothing changed", &All::equal},
      {"matched_by_functions",
       "number of sites, including equal ones, that were matched by functions alone",
       &All::by_functions},
      {"renamed_files", "files with another name in AFTER, by these matches", renamed,
       &All::renamed},
      {"rows", "the largest change first",
       row_fields("how it changed; `equal` only in `memory`", of.by),
       [&of](const All& found) { return first_rows(found.rows, of.most); }}};
}

std::string diff_json(const Differences& found, const DiffOf& of) {
  return json_of(found, diff_fields(of));
}

Columns<Difference> diff_columns() {
  using Row = Difference;
  Columns<Row> columns = change_columns("");
  const auto add_side = [&](const std::string& name, DiffSide Row::*which) {
    for (const Column<DiffSide>& column : side_columns()) {
      columns.push_back({name + column.name, "", [=](const Row& row) {
                           return (row.*which).is_there ? column.cell(row.*which) : CellValue();
                         }});
    }
  };
  add_side("before_", &Row::before);
  add_side("after_", &Row::after);
  columns.push_back({"frames", "", &Row::listed});
  return columns;
}

}  // namespace vramscope
