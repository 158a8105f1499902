// What was allocated by thread, stream, range, function or size.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/axis_text.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "reporter/report/report.h"
#include "reporter/view/text/digest.h"
#include "reporter/view/text/json_text.h"
#include "reporter/view/text/site_columns.h"
#include "reporter/view/text/thread_names.h"
#include "reporter/view/text/totals_text.h"

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

std::string value_text(const AxisEntry& entry, const ThreadNames& threads, const Page& page) {
  return entry.axis == Axis::thread ? threads.text(entry.value, page)
                                    : printable(size_text(entry), page);
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
  arrange(entries, axis_columns(&threads), choice);
  return entries;
}

std::string axis_title(Axis axis) {
  std::string title(axis == Axis::size_class ? "SIZE" : kAxisNames[static_cast<std::size_t>(axis)]);
  for (char& letter : title) {
    letter = letter >= 'a' ? static_cast<char>(letter - 'a' + 'A') : letter;
  }
  return title;
}

std::string axis_at_peak_text(bool is_flat) {
  return is_flat ? "AT PEAK: when that memory held most"
                 : "Of each memory what it was when that held most; TIME: in calls that allocate";
}

// Of one row of text: what one value held of all memories, or all values of all.
struct AxisSum {
  std::map<std::pair<Kind, std::uint16_t>, std::uint64_t> at_peak = {};
  SiteTotals totals = {};

  void add(const AxisEntry& entry) {
    at_peak[{entry.kind, entry.device}] += entry.totals.peak_bytes;
    totals += entry.totals;
  }
};

AxisSum axis_sum_of(const std::vector<AxisEntry>& entries) {
  AxisSum sum;
  for (const AxisEntry& entry : entries) sum.add(entry);
  return sum;
}

using AxisMemory = std::pair<Kind, std::uint16_t>;

// Of what the entries are, the one that held most at its peak first.
std::vector<AxisMemory> axis_memories_of(const std::vector<AxisEntry>& entries) {
  const AxisSum sum = axis_sum_of(entries);
  std::vector<AxisMemory> memories;
  for (const auto& [memory, bytes] : sum.at_peak) memories.push_back(memory);
  std::stable_sort(memories.begin(), memories.end(), [&](const AxisMemory& a, const AxisMemory& b) {
    return sum.at_peak.at(a) > sum.at_peak.at(b);
  });
  return memories;
}

std::string more_values_text(std::size_t count) {
  return count == 0 ? "" : "  and " + std::to_string(count) + " more\n";
}

// A row for each value and memory; of one memory with their sum.
std::string flat_axis(const Report& report, Axis axis, const std::vector<AxisEntry>& entries,
                      std::size_t memories, const ThreadNames& threads, const Page& page,
                      const RowChoice& choice) {
  using enum Table::Align;
  Table table({{"AT PEAK", right},
               {adds_peaks(report) ? "OWN PEAKS" : "OWN PEAK", right, 3},
               {"NOW", right, 1},
               {"TOTAL", right, 4},
               {"COUNT", right, 2},
               {"TIME", right, 5},
               {"MEMORY", left},
               {axis_title(axis), left}});
  const auto add = [&](const SiteTotals& totals, const std::string& own, const AxisEntry& entry,
                       const std::string& value) {
    table.add({bytes_text(totals.peak_bytes), own, bytes_text(totals.live_bytes),
               bytes_text(totals.total_bytes),
               count_text(static_cast<std::int64_t>(totals.total_count)),
               duration_text(totals.total_ns), memory_text(entry.kind, entry.device), value});
  };
  const std::size_t shown = rows_shown(entries.size(), choice.most);
  for (std::size_t i = 0; i < shown; ++i) {
    add(entries[i].totals, bytes_text(entries[i].own_peak_bytes), entries[i],
        value_text(entries[i], threads, page));
  }
  std::string rest;
  if (shown < entries.size()) rest = more_values_text(entries.size() - shown);
  if (memories == 1 && entries.size() > 1) {
    add(axis_sum_of(entries).totals, "", entries.front(), kAllValues);
  }
  return table.text(page) + rest + table.left_out(page);
}

// Each value with all that it held, in the order of its first entry.
std::vector<std::pair<std::string, AxisSum>> axis_values(const std::vector<AxisEntry>& entries,
                                                         const ThreadNames& threads,
                                                         const Page& page) {
  std::vector<std::pair<std::string, AxisSum>> values;
  std::map<std::string, std::size_t> known;  // index into them
  for (const AxisEntry& entry : entries) {
    const std::string value = value_text(entry, threads, page);
    const auto [found, is_new] = known.emplace(value, values.size());
    if (is_new) values.emplace_back(value, AxisSum());
    values[found->second].second.add(entry);
  }
  return values;
}

// A row for each value, with a column for each memory, and their sum: it is the memory's own peak,
// since every byte is of one value.
std::string axis_by_memory(Axis axis, const std::vector<AxisEntry>& entries,
                           const std::vector<AxisMemory>& memories, const ThreadNames& threads,
                           const Page& page, const RowChoice& choice) {
  using enum Table::Align;
  std::vector<Table::Column> titles;
  for (const auto& [kind, device] : memories) {  // the first one never yields
    titles.push_back({memory_text(kind, device), right, static_cast<unsigned>(titles.size())});
  }
  const auto last = static_cast<unsigned>(titles.size());
  titles.insert(titles.end(), {{"NOW", right, last},
                               {"TOTAL", right, last + 3},
                               {"COUNT", right, last + 1},
                               {"TIME", right, last + 2},
                               {axis_title(axis), left}});
  Table table(std::move(titles));
  const auto add = [&](const AxisSum& sum, const std::string& value) {
    std::vector<std::string> cells;
    for (const AxisMemory& memory : memories) {
      const auto found = sum.at_peak.find(memory);
      cells.push_back(found == sum.at_peak.end() ? "" : bytes_text(found->second));
    }
    cells.insert(cells.end(),
                 {bytes_text(sum.totals.live_bytes), bytes_text(sum.totals.total_bytes),
                  count_text(static_cast<std::int64_t>(sum.totals.total_count)),
                  duration_text(sum.totals.total_ns), value});
    table.add(std::move(cells));
  };
  const auto values = axis_values(entries, threads, page);
  const std::size_t shown = rows_shown(values.size(), choice.most);
  for (std::size_t i = 0; i < shown; ++i) add(values[i].second, values[i].first);
  if (values.size() > 1) add(axis_sum_of(entries), kAllValues);
  return table.text(page) + more_values_text(values.size() - shown) + table.left_out(page);
}

}  // namespace

std::optional<Axis> axis_named(std::string_view name) {
  if (name == "size") return Axis::size_class;
  const auto found = std::find(kAxisNames.begin(), kAxisNames.end(), name);
  if (found == kAxisNames.end()) return std::nullopt;
  return static_cast<Axis>(found - kAxisNames.begin());
}

Columns<AxisEntry> axis_columns(const ThreadNames* threads) {
  using Row = AxisEntry;
  const auto axis = [](const Row& row) {
    return std::string(kAxisNames[static_cast<std::size_t>(row.axis)]);
  };
  return {{"axis", axis},
          {"value", [](const Row& row) { return row.value; }},
          {"began",
           [threads](const Row& row) {
             const bool is_told = threads != nullptr && row.axis == Axis::thread;
             return is_told ? threads->began(row.value) : std::string();
           }},
          {"device", [](const Row& row) { return number(row.device); }},
          {"kind", [](const Row& row) { return kind_cell(row.kind); }},
          {"peak_bytes", [](const Row& row) { return row.totals.peak_bytes; }},
          {"own_peak_bytes", [](const Row& row) { return row.own_peak_bytes; }},
          {"live_bytes", [](const Row& row) { return row.totals.live_bytes; }},
          {"total_bytes", [](const Row& row) { return row.totals.total_bytes; }},
          {"total_count", [](const Row& row) { return row.totals.total_count; }},
          {"total_ns", [](const Row& row) { return row.totals.total_ns; }}};
}

std::string axis_text(const Report& report, Axis axis, const NameFrame& name, const Page& page,
                      const RowChoice& choice) {
  const ThreadNames threads(report, name);
  const std::vector<AxisEntry> entries = entries_of(report, axis, threads, choice);
  if (entries.empty()) return nothing_text(report);
  const std::vector<AxisMemory> memories = axis_memories_of(entries);
  const bool is_flat = memories.size() == 1 || !choice.sort.empty();
  const std::string rows =
      is_flat ? flat_axis(report, axis, entries, memories.size(), threads, page, choice)
              : axis_by_memory(axis, entries, memories, threads, page, choice);
  std::string remark = adds_peaks(report) ? "Requested bytes, of all processes added. " +
                                                axis_at_peak_text(is_flat) + " in each."
                                          : "Requested bytes. " + axis_at_peak_text(is_flat) + ".";
  if (axis == Axis::range) {
    remark += " An allocation counts for the innermost range alone: a is without a/b.";
  }
  return rows + "\n" + paragraph(remark, page) + totals_text(report, page);
}

std::string axis_json(const Report& report, Axis axis, const NameFrame& name,
                      const RowChoice& choice) {
  const ThreadNames threads(report, name);
  JsonText json;
  add_objects(json.array(), entries_of(report, axis, threads, choice), axis_columns(&threads),
              choice.most);
  return json.end().text();
}

void add_axis_csv(CsvText& csv, const Report& report, Axis axis, const NameFrame& name,
                  const RowChoice& choice) {
  const ThreadNames threads(report, name);
  add_rows(csv, entries_of(report, axis, threads, choice), axis_columns(&threads), choice.most);
}

}  // namespace vramscope
