// What was allocated by thread, stream, range, call or size.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/axis_text.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "reporter/report/memory_name.h"
#include "reporter/report/report.h"
#include "reporter/view/analysis/filter/filter.h"
#include "reporter/view/analysis/report_figures.h"
#include "reporter/view/analysis/site_usage.h"
#include "reporter/view/analysis/stacks/thread_names.h"
#include "reporter/view/analysis/subject.h"
#include "reporter/view/listing/json_text.h"
#include "reporter/view/listing/site_columns.h"
#include "reporter/view/listing/thread_text.h"
#include "reporter/view/text/totals_text.h"
#include "reporter/view/text/words.h"

namespace vramscope {
namespace {

constexpr const char* kAllValues = "all together";

// "1.00 MiB .. 2.00 MiB" for the size class from 1048576 on.
std::string size_text(const AxisEntry& entry) {
  if (entry.axis != Axis::size_class || entry.value.empty()) return entry.value;
  const bool is_number = entry.value.find_first_not_of("0123456789") == std::string::npos;
  if (!is_number || entry.value.size() > 18) return entry.value;
  const std::uint64_t from = std::stoull(entry.value);
  return bytes_text(from) + " .. " + bytes_text(2 * from);
}

std::string value_text(const AxisEntry& entry, const ThreadNames* threads, const Page& page) {
  return entry.axis == Axis::thread ? text_of_thread(*threads, entry.value, page)
                                    : size_text(entry);
}

// Those of one value next to each other; values and what is of one stay in their order.
void group_by_value(std::vector<AxisEntry>& entries) {
  std::map<std::string, std::size_t> places;
  for (const AxisEntry& entry : entries) places.emplace(entry.value, places.size());
  std::stable_sort(entries.begin(), entries.end(), [&](const AxisEntry& a, const AxisEntry& b) {
    return places.at(a.value) < places.at(b.value);
  });
}

std::vector<AxisEntry> entries_of(const Report& report, Axis axis, const ThreadNames& threads,
                                  const RowChoice& choice) {
  std::vector<AxisEntry> entries;
  for (const AxisEntry& entry : report.axes) {
    if (entry.axis == axis && holds_memory(entry.kind)) entries.push_back(entry);
  }
  std::stable_sort(entries.begin(), entries.end(), [](const AxisEntry& a, const AxisEntry& b) {
    return std::tie(a.totals.peak_bytes, a.own_peak_bytes) >
           std::tie(b.totals.peak_bytes, b.own_peak_bytes);
  });
  if (choice.sort.empty()) group_by_value(entries);
  arrange(entries, axis_columns(report, axis, &threads), choice);
  return entries;
}

// As JSON and CSV have it.
constexpr std::string_view kAxisWords[] = {"owner", "thread", "stream",
                                           "range", "call",   "size_class"};
std::string axis_name(Axis axis) { return std::string(kAxisWords[static_cast<std::size_t>(axis)]); }

// As a person reads it.
std::string axis_word(Axis axis) { return axis == Axis::size_class ? "size" : axis_name(axis); }

// Reports do not follow what had no value, and have what it held at the peak of all, or holds now:
// that is its own peak where it was all that was held then, and where nothing was freed.
bool knows_own_peak(const Report& report, const AxisEntry& entry) {
  if (trigger_of(report) == Trigger::trace || entry.value != kNoValue) return true;
  if (entry.totals.live_bytes == entry.totals.total_bytes) return true;
  return std::any_of(report.kinds.begin(), report.kinds.end(), [&](const KindFacts& kind) {
    return kind.kind == entry.kind && kind.device == entry.device &&
           kind.peak_bytes == entry.totals.peak_bytes;
  });
}

std::string own_peak_title(const Report& report) {
  return is_of_several(report) ? "OWN PEAKS" : "OWN PEAK";
}

bool is_of_one_memory(const std::vector<AxisEntry>& entries) {
  return std::all_of(entries.begin(), entries.end(), [&](const AxisEntry& entry) {
    return entry.kind == entries.front().kind && entry.device == entries.front().device;
  });
}

// A row for each value and memory; of one memory with their sum: that is the memory's own peak,
// since every byte is of one value.
void add_rows(Document& text, const Columns<AxisEntry>& columns,
              const std::vector<AxisEntry>& entries, const Page& page, const RowChoice& choice) {
  Table table = table_of(columns, entries, page, choice.most);
  const std::size_t rest = entries.size() - rows_shown(entries.size(), choice.most);
  if (entries.size() > 1 && is_of_one_memory(entries)) {
    AxisEntry sum = entries.front();
    sum.value = kAllValues;
    sum.totals = {};
    for (const AxisEntry& entry : entries) sum.totals += entry.totals;
    std::vector<std::string> cells = text_cells(columns, sum, page);
    std::size_t cell = 0;
    for (const Column<AxisEntry>& column : columns) {
      if (column.is_in_text() && column.name == "own_peak_bytes") cells[cell].clear();
      cell += column.is_in_text() ? 1 : 0;
    }
    cells.back() = kAllValues;
    table.add(std::move(cells));
  }
  text.table(std::move(table), rest == 0 ? "" : "  and " + count_text(rest) + " more\n");
}

// Whether some value has rows of several memories, one below the other.
bool has_kinds_of_one_value(const std::vector<AxisEntry>& entries) {
  return std::adjacent_find(entries.begin(), entries.end(),
                            [](const AxisEntry& a, const AxisEntry& b) {
                              return a.value == b.value;
                            }) != entries.end();
}

}  // namespace

std::optional<Axis> axis_named(std::string_view name) {
  if (name == "size") return Axis::size_class;
  if (name == "call") return Axis::function;
  if (name == kAxisNames[static_cast<std::size_t>(Axis::function)]) return std::nullopt;
  const auto found = std::find(kAxisNames.begin(), kAxisNames.end(), name);
  if (found == kAxisNames.end()) return std::nullopt;
  return static_cast<Axis>(found - kAxisNames.begin());
}

Columns<AxisEntry> axis_columns(const Report& report, Axis axis, const ThreadNames* threads,
                                const Page& page) {
  using Row = AxisEntry;
  const auto name = [](const Row& row) { return axis_name(row.axis); };
  const auto began = [threads](const Row& row) {
    const bool is_told = threads != nullptr && row.axis == Axis::thread;
    return is_told ? threads->began(row.value) : std::string();
  };
  const auto own_peak = [&report](const Row& row) {
    return knows_own_peak(report, row) ? std::optional(row.own_peak_bytes) : std::nullopt;
  };
  const auto totals = [](const Row& row) -> const SiteTotals& { return row.totals; };
  Columns<Row> sums = totals_columns<Row>(totals, {0, 1, 4, 3, 5});
  std::erase_if(sums, [](const Column<Row>& sum) { return sum.name == "live_count"; });
  sums.insert(
      sums.begin() + 1,
      {"own_peak_bytes",
       "the value's own peak; in a merged report, the sum over its processes; null: `none`, whose "
       "own peak reports do not record, unless it held everything at the peak or freed nothing",
       own_peak, Titled(own_peak_title(report), 2)});
  need_history(sums, kHistoryOfTotals, run_history(report));
  Columns<Row> columns{
      {"axis", "what `--by` chose", name, OneOf(kAxisWords)},
      {"value", "value on the axis; for `size_class`, the lower bound of the class in bytes",
       &Row::value},
      {"began",
       "for threads: `main thread`, or the program's outermost function in the thread with the "
       "line where it begins, if known: `load (train.py:20)`; empty: unknown, or another axis",
       began},
      device_column<Row>(&Row::device),
      kind_column<Row>(&Row::kind)};
  append(columns, sums);
  append(columns,
         {{{"MEMORY"},
           [&report](const Row& row) { return memory_name(report, row.kind, row.device); }},
          {{in_capitals(axis_word(axis))},
           [=](const Row& row) { return value_text(row, threads, page); }}});
  return columns;
}

Document axis_text(const Report& report, Axis axis, const NameFrame& name, const Page& page,
                   const RowChoice& choice) {
  const ThreadNames threads(report, name);
  const std::vector<AxisEntry> entries = entries_of(report, axis, threads, choice);
  if (entries.empty()) return nothing_text(report);
  const bool are_added = is_of_several(report);
  const bool is_snapshot = !tells_frees(report);
  std::string remark = is_snapshot
                           ? "NOW: requested bytes live at the snapshot."
                           : std::string("Requested bytes") +
                                 (are_added ? ", summed over all processes" : "") +
                                 ". AT PEAK: when this kind of memory was at its peak" +
                                 (are_added ? " in each process" : "") + "; " +
                                 own_peak_title(report) + ": when the row itself was at its peak.";
  if (has_kinds_of_one_value(entries)) {
    remark += " Rows of one " + axis_word(axis) + " are adjacent, the largest first.";
  }
  if (axis == Axis::range) {
    remark +=
        " An allocation counts only for its innermost range: range \"a\" does not "
        "include range \"a/b\".";
  }
  Columns<AxisEntry> columns = axis_columns(report, axis, &threads, page);
  if (is_snapshot) keep_what_was_live(columns);
  Document text;
  add_rows(text, columns, entries, page, choice);
  text.gap();
  text.paragraph(remark);
  text.append(totals_text(report, name), kUnlessRepeated);
  return text;
}

std::string axis_json(const Report& report, Axis axis, const NameFrame& name,
                      const RowChoice& choice) {
  const ThreadNames threads(report, name);
  return json_of(first_rows(entries_of(report, axis, threads, choice), choice.most),
                 axis_columns(report, axis, &threads));
}

void add_axis_csv(CsvText& csv, const Report& report, Axis axis, const NameFrame& name,
                  const RowChoice& choice) {
  const ThreadNames threads(report, name);
  add_rows(csv, entries_of(report, axis, threads, choice), axis_columns(report, axis, &threads),
           choice.most);
}

}  // namespace vramscope
