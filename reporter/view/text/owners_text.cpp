// Whose the bytes are: the ledger that adds up to each device, and the other axes.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/owners_text.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "reporter/record/axes.h"
#include "reporter/report/report.h"
#include "reporter/view/text/digest.h"
#include "reporter/view/text/json_text.h"
#include "reporter/view/text/site_columns.h"
#include "reporter/view/text/totals_text.h"

namespace vramscope {
namespace {

constexpr std::size_t kBarCells = 24;
constexpr std::size_t kShortBarCells = 8;
constexpr std::size_t kNarrow = 80;  // columns of a page

std::string heading(const std::string& text, const Page& page) {
  return coloured(fitted(text, page), Colour::bold, page) + "\n";
}

// The largest part first.
std::vector<LedgerEntry> entries_on(const Report& report, std::uint16_t device,
                                    const RowChoice& choice) {
  std::vector<LedgerEntry> entries;
  for (const LedgerEntry& entry : report.ledger) {
    if (entry.device == device && entry.device_bytes != 0) entries.push_back(entry);
  }
  std::stable_sort(entries.begin(), entries.end(), [](const LedgerEntry& a, const LedgerEntry& b) {
    return a.device_bytes > b.device_bytes;
  });
  arrange(entries, ledger_columns(), choice);
  return entries;
}

std::uint64_t used_on(const Report& report, std::uint16_t device) {
  std::uint64_t used = 0;
  for (const LedgerEntry& entry : report.ledger) {
    if (entry.device == device) used += entry.device_bytes;
  }
  return used;
}

std::string device_text(const Report& report, const DeviceFacts& facts, const Page& page,
                        const RowChoice& choice) {
  using enum Table::Align;
  const std::uint64_t used = used_on(report, facts.index);
  std::string result =
      heading("GPU " + std::to_string(facts.index) + "  " + printable(facts.name, page) + ": " +
                  bytes_text(used) + " of " + bytes_text(facts.total_bytes) + " used",
              page);
  Table table({{"BYTES", right}, {"SHARE", right}, {"", left, 1}, {"KIND", left}, {"OWNER", left}});
  const std::size_t cells = page.width < kNarrow ? kShortBarCells : kBarCells;
  const std::vector<LedgerEntry> entries = entries_on(report, facts.index, choice);
  const std::size_t shown = rows_shown(entries.size(), choice.most);
  for (std::size_t i = 0; i < shown; ++i) {
    const LedgerEntry& entry = entries[i];
    table.add({bytes_text(entry.device_bytes), percent_text(entry.device_bytes, used),
               bar(entry.device_bytes, used, cells, page), printable(entry.kind, page),
               printable(entry.owner, page)});
  }
  result += table.text(page);
  if (shown < entries.size()) {
    result += "  and " + std::to_string(entries.size() - shown) + " more\n";
  }
  return result + "\n";
}

std::string requests_text(const Report& report, const Page& page, const RowChoice& choice) {
  using enum Table::Align;
  const char* const peak = adds_peaks(report) ? "PEAKS ADDED" : "PEAK";
  Table table({{peak, right}, {"NOW", right}, {"CALLS", right}, {"KIND", left}, {"OWNER", left}});
  std::vector<LedgerEntry> entries;
  for (const LedgerEntry& entry : report.ledger) {
    if (entry.calls != 0) entries.push_back(entry);
  }
  std::stable_sort(entries.begin(), entries.end(), [](const LedgerEntry& a, const LedgerEntry& b) {
    return a.peak_bytes > b.peak_bytes;
  });
  arrange(entries, ledger_columns(), choice);
  const std::size_t shown = rows_shown(entries.size(), choice.most);
  for (std::size_t i = 0; i < shown; ++i) {
    const LedgerEntry& entry = entries[i];
    table.add({bytes_text(entry.peak_bytes), bytes_text(entry.current_bytes),
               count_text(static_cast<std::int64_t>(entry.calls)), printable(entry.kind, page),
               printable(entry.owner, page)});
  }
  if (table.empty()) return nothing_text(report);
  std::string result = heading("Who asked, requested bytes", page) + table.text(page);
  if (shown < entries.size()) {
    result += "  and " + std::to_string(entries.size() - shown) + " more\n";
  }
  return result;
}

// "1.00 MiB .. 2.00 MiB" for the size class from 1048576 on.
std::string value_text(const AxisEntry& entry) {
  if (entry.axis != Axis::size_class || entry.value.empty()) return entry.value;
  const bool is_number = entry.value.find_first_not_of("0123456789") == std::string::npos;
  if (!is_number || entry.value.size() > 18) return entry.value;
  const std::uint64_t from = std::stoull(entry.value);
  return bytes_text(from) + " .. " + bytes_text(2 * from);
}

std::vector<AxisEntry> entries_of(const Report& report, Axis axis, const RowChoice& choice) {
  std::vector<AxisEntry> entries;
  for (const AxisEntry& entry : report.axes) {
    if (entry.axis == axis && holds_memory(entry.kind)) entries.push_back(entry);
  }
  std::stable_sort(entries.begin(), entries.end(), [](const AxisEntry& a, const AxisEntry& b) {
    return std::tie(a.totals.peak_bytes, a.own_peak_bytes) >
           std::tie(b.totals.peak_bytes, b.own_peak_bytes);
  });
  arrange(entries, axis_columns(), choice);
  return entries;
}

std::vector<LedgerEntry> arranged(std::vector<LedgerEntry> ledger, const RowChoice& choice) {
  arrange(ledger, ledger_columns(), choice);
  return ledger;
}

}  // namespace

std::optional<Axis> axis_named(std::string_view name) {
  if (name == "size") return Axis::size_class;
  const auto found = std::find(kAxisNames.begin(), kAxisNames.end(), name);
  if (found == kAxisNames.end()) return std::nullopt;
  return static_cast<Axis>(found - kAxisNames.begin());
}

Columns<LedgerEntry> ledger_columns() {
  using Row = LedgerEntry;
  return {{"device", [](const Row& row) { return number(row.device); }},
          {"kind", [](const Row& row) { return row.kind; }},
          {"owner", [](const Row& row) { return row.owner; }},
          {"current_bytes", [](const Row& row) { return row.current_bytes; }},
          {"peak_bytes", [](const Row& row) { return row.peak_bytes; }},
          {"calls", [](const Row& row) { return row.calls; }},
          {"device_bytes", [](const Row& row) { return row.device_bytes; }}};
}

Columns<AxisEntry> axis_columns() {
  using Row = AxisEntry;
  const auto axis = [](const Row& row) {
    return std::string(kAxisNames[static_cast<std::size_t>(row.axis)]);
  };
  return {{"axis", axis},
          {"value", [](const Row& row) { return row.value; }},
          {"device", [](const Row& row) { return number(row.device); }},
          {"kind", [](const Row& row) { return kind_cell(row.kind); }},
          {"peak_bytes", [](const Row& row) { return row.totals.peak_bytes; }},
          {"own_peak_bytes", [](const Row& row) { return row.own_peak_bytes; }},
          {"live_bytes", [](const Row& row) { return row.totals.live_bytes; }},
          {"total_bytes", [](const Row& row) { return row.totals.total_bytes; }},
          {"total_count", [](const Row& row) { return row.totals.total_count; }},
          {"total_ns", [](const Row& row) { return row.totals.total_ns; }}};
}

std::string owners_text(const Report& report, const Page& page, const RowChoice& choice) {
  std::string result;
  for (const DeviceReport& device : report.devices) {
    if (used_on(report, device.facts.index) == 0) continue;
    result += device_text(report, device.facts, page, choice);
  }
  return result + requests_text(report, page, choice) + totals_text(report, page);
}

std::string owners_json(const Report& report, const RowChoice& choice) {
  JsonText json;
  json.object().key("devices").array();
  for (const DeviceReport& device : report.devices) {
    json.object().field("device", device.facts.index);
    json.field("total_bytes", device.facts.total_bytes);
    json.field("used_bytes", used_on(report, device.facts.index)).end();
  }
  json.end().key("ledger").array();
  add_objects(json, arranged(report.ledger, choice), ledger_columns(), choice.most);
  return json.end().end().text();
}

void add_owners_csv(CsvText& csv, const Report& report, const RowChoice& choice) {
  add_rows(csv, arranged(report.ledger, choice), ledger_columns(), choice.most);
}

std::string axis_text(const Report& report, Axis axis, const Page& page, const RowChoice& choice) {
  using enum Table::Align;
  std::string title(axis == Axis::size_class ? "SIZE" : kAxisNames[static_cast<std::size_t>(axis)]);
  for (char& letter : title)
    letter = letter >= 'a' ? static_cast<char>(letter - 'a' + 'A') : letter;
  Table table({{"AT PEAK", right},
               {adds_peaks(report) ? "OWN PEAKS" : "OWN PEAK", right, 3},
               {"NOW", right, 1},
               {"TOTAL", right, 4},
               {"COUNT", right, 2},
               {"TIME", right, 5},
               {"MEMORY", left},
               {title, left}});
  const std::vector<AxisEntry> entries = entries_of(report, axis, choice);
  const std::size_t shown = rows_shown(entries.size(), choice.most);
  for (std::size_t i = 0; i < shown; ++i) {
    const AxisEntry& entry = entries[i];
    const SiteTotals& totals = entry.totals;
    table.add({bytes_text(totals.peak_bytes), bytes_text(entry.own_peak_bytes),
               bytes_text(totals.live_bytes), bytes_text(totals.total_bytes),
               count_text(static_cast<std::int64_t>(totals.total_count)),
               duration_text(totals.total_ns), memory_text(entry.kind, entry.device),
               printable(value_text(entry), page)});
  }
  if (table.empty()) return nothing_text(report);
  std::string result = table.text(page);
  if (shown < entries.size()) {
    result += "  and " + std::to_string(entries.size() - shown) + " more\n";
  }
  return result + table.left_out(page) + "\n" +
         paragraph(adds_peaks(report)
                       ? "Requested bytes, of all processes added. AT PEAK: when that memory "
                         "held most in each."
                       : "Requested bytes. AT PEAK: when that memory held most.",
                   page) +
         totals_text(report, page);
}

std::string axis_json(const Report& report, Axis axis, const RowChoice& choice) {
  JsonText json;
  add_objects(json.array(), entries_of(report, axis, choice), axis_columns(), choice.most);
  return json.end().text();
}

void add_axis_csv(CsvText& csv, const Report& report, Axis axis, const RowChoice& choice) {
  add_rows(csv, entries_of(report, axis, choice), axis_columns(), choice.most);
}

}  // namespace vramscope
