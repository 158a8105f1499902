// Whose the bytes are: at the peak, and in the end by the ledger that adds up to each device.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/owners_text.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "reporter/ground/axes.h"
#include "reporter/report/ledger_row.h"
#include "reporter/report/memory_name.h"
#include "reporter/view/analysis/digest.h"
#include "reporter/view/analysis/subject.h"
#include "reporter/view/listing/json_text.h"
#include "reporter/view/listing/site_columns.h"
#include "reporter/view/text/goes_back_text.h"
#include "reporter/view/text/idle_text.h"
#include "reporter/view/text/owners_words.h"
#include "reporter/view/text/totals_text.h"
#include "reporter/view/text/words.h"

namespace vramscope {
namespace {

constexpr std::size_t kBarCells = 24, kShortBarCells = 8;
constexpr std::size_t kNarrow = 80;  // columns of a page

std::string heading(const std::string& text, const Page& page) {
  return sentence(text, Colour::bold, page);
}

// Versions that added up what each process saw of the others counted these for each other: more
// than there is on the device cannot be.
void bound_by_device(LedgerEntry& entry, const Report& report) {
  for (const DeviceReport& device : report.devices) {
    if (device.facts.index != entry.device || device.facts.total_bytes == 0) continue;
    entry.device_bytes = std::min(entry.device_bytes, device.facts.total_bytes);
    entry.current_bytes = std::min(entry.current_bytes, device.facts.total_bytes);
    entry.peak_bytes = std::min(entry.peak_bytes, device.facts.total_bytes);
  }
}

std::string memory_of(const Report& report, const LedgerEntry& entry) {
  const std::optional<Kind> kind = kind_of(entry.kind);
  return kind ? memory_name(report, *kind, entry.device) : entry.kind;
}

// The rows in the order of the report. What was asked for at the peak is told by the axis of
// owners; a ledger that was written without it, or of which it was left out, does not tell.
std::vector<OwnerRow> owner_rows(const Report& report, const std::vector<LedgerEntry>& ledger) {
  using Memory = std::pair<std::uint16_t, std::string>;
  std::map<std::pair<Memory, std::string>, std::uint64_t> known;
  std::set<Memory> told;
  for (const AxisEntry& entry : report.axes) {
    if (entry.axis != Axis::owner) continue;
    const Memory memory{entry.device,
                        std::string(kKindNames[static_cast<std::size_t>(entry.kind)])};
    told.insert(memory);
    known[{memory, entry.value}] = entry.totals.peak_bytes;
  }
  std::vector<OwnerRow> rows;
  for (const LedgerEntry& entry : ledger) {
    OwnerRow row{.entry = entry, .memory = memory_of(report, entry)};
    if (is_of_several(report) && row_of(entry) == LedgerRow::others)
      bound_by_device(row.entry, report);
    const Memory memory{entry.device, entry.kind};
    const auto found = known.find({memory, entry.owner});
    if (found != known.end()) {
      row.at_peak = found->second;
      known.erase(found);  // memory of unknown origin may be of an owner called unknown, too
    } else if (entry.calls != 0 && told.contains(memory)) {
      row.at_peak = entry.peak_bytes;  // of unknown origin: what the others leave
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<OwnerRow> owner_rows(const Report& report) { return owner_rows(report, report.ledger); }

using PeakSums = std::map<std::string, std::uint64_t>;  // by OwnerRow::memory

// Of the memory that held most at its peak first, and of each the largest part.
std::vector<OwnerRow> rows_at_peak(const Report& report, PeakSums& sums, const RowChoice& choice) {
  std::vector<OwnerRow> rows = owner_rows(report);
  std::erase_if(rows, [](const OwnerRow& row) { return row.entry.calls == 0; });
  for (const OwnerRow& row : rows) sums[row.memory] += row.at_peak.value_or(0);
  std::stable_sort(rows.begin(), rows.end(), [&](const OwnerRow& a, const OwnerRow& b) {
    return std::make_tuple(sums[b.memory], a.memory, b.at_peak, b.entry.peak_bytes) <
           std::make_tuple(sums[a.memory], b.memory, a.at_peak, a.entry.peak_bytes);
  });
  arrange(rows, owner_columns(), choice);
  return rows;
}

std::string peak_heading(const Report& report, const Page& page) {
  const std::vector<KindFacts> kinds = kinds_by_peak(report);
  std::string text = is_of_several(report) ? "At the peaks of all processes, added"
                     : kinds.size() == 1   ? "At the peak"
                                           : "At the peak of each memory";
  text += ", requested bytes";
  for (const KindFacts& kind : kinds) {
    text += (&kind == &kinds.front() ? ": " : ", ") + memory_name(report, kind.kind, kind.device) +
            " " + amount_text(kind.peak_bytes) + of_all_text(report, kind);
  }
  return heading(text, page);
}

std::string more_rows_text(std::size_t count) {
  return count == 0 ? "" : "  and " + std::to_string(count) + " more\n";
}

// What the allocator had from the driver for it is more: requests are rounded, and freed memory is
// kept. Nobody owns that.
std::string reserved_text(const Report& report, const Page& page) {
  std::string text;
  for (const KindFacts& kind : kinds_by_peak(report)) {
    const DeviceStatistics* const statistics = statistics_of(report, kind);
    if (statistics == nullptr) continue;
    const auto reserved = static_cast<std::uint64_t>(statistics->reserved_bytes.all.peak);
    if (reserved <= kind.peak_bytes) continue;
    const ReservedMemory memory = reserved_memory(report, *find_device(report, kind.device));
    const std::string needed = needed_text(report, memory);
    text += paragraph(memory_name(report, kind.kind, kind.device) + ": at most " +
                          amount_text(reserved) + " reserved from the driver for it, " +
                          amount_text(reserved - kind.peak_bytes) +
                          " above what was requested: rounding, and the allocator's cache" +
                          (needed.empty() ? "" : "; " + needed),
                      page);
  }
  return text;
}

// Contexts and loaded code were there at the peak, too; how large they were is known of the end.
std::string unaccounted_text(const Report& report, const Page& page) {
  std::map<std::uint16_t, std::uint64_t> bytes;
  for (const LedgerEntry& entry : report.ledger) {
    const LedgerRow row = row_of(entry);
    const bool is_kept = row == LedgerRow::contexts || row == LedgerRow::modules;
    if (is_kept) bytes[entry.device] += entry.device_bytes;
  }
  std::string text;
  for (const auto& [device, held] : bytes) {
    if (held == 0) continue;
    text += paragraph(gpu_name(report, device) + ": besides " + amount_text(held) +
                          " for contexts and loaded code (see below)",
                      page);
  }
  return text;
}

// Whose it was when there was most of it.
std::string peak_part(const Report& report, const Page& page, const RowChoice& choice) {
  using enum Table::Align;
  PeakSums sums;
  const std::vector<OwnerRow> rows = rows_at_peak(report, sums, choice);
  if (rows.empty()) return nothing_text(report);
  const bool is_told = std::any_of(rows.begin(), rows.end(),
                                   [](const OwnerRow& row) { return row.at_peak.has_value(); });
  const Columns<OwnerRow> all = owner_columns();
  Columns<OwnerRow> columns;
  if (is_told) {
    const std::size_t cells = page.width < kNarrow ? kShortBarCells : kBarCells;
    const auto of_peak = [&](auto text) {
      return [&, text](const OwnerRow& row) {
        return row.at_peak ? text(*row.at_peak, sums[row.memory]) : "";
      };
    };
    const auto share_bar = [&, cells](std::uint64_t part, std::uint64_t whole) {
      return bar(part, whole, cells, page);
    };
    append(columns, picked(all, {"AT PEAK"}));
    append(columns,
           {{{"SHARE", right}, of_peak(percent_text)}, {{"", left, 4}, of_peak(share_bar)}});
  }
  append(columns, picked(all, {"OWN PEAK", "NOW", "CALLS", "MEMORY", "OWNER"}));
  Column<OwnerRow>& own_peak = columns[is_told ? 3 : 0];
  if (is_of_several(report)) own_peak.title += "S";
  const Table table = table_of(columns, rows, page, choice.most);
  const std::size_t shown = rows_shown(rows.size(), choice.most);
  return peak_heading(report, page) + table.text(page) + more_rows_text(rows.size() - shown) +
         table.left_out(page) +
         (report.chosen ? "" : reserved_text(report, page) + unaccounted_text(report, page));
}

// kind: of the ledger; "": all. Whatever passes a filter.
std::uint64_t used_on(const Report& report, std::uint16_t device, std::string_view kind) {
  std::uint64_t used = 0;
  const auto& ledger = report.chosen ? report.chosen->ledger : report.ledger;
  for (const OwnerRow& row : owner_rows(report, ledger)) {
    const LedgerEntry& entry = row.entry;
    const bool counts = entry.device == device && (kind.empty() || entry.kind == kind);
    if (counts) used += entry.device_bytes;
  }
  return used;
}

// When what is told of the device was so. Of several processes it was told at an instant of each.
std::string when_used(const Report& report) {
  if (is_of_several(report)) {
    return have_all_ended(report) ? "As each process ended, at different times, added: "
                                  : "As each process wrote its report, at different times, added: ";
  }
  if (trigger_of(report) == Trigger::oom) return "When memory ran out: ";
  return is_final(report) ? "At the end: " : "When the report was written: ";
}

bool is_cached(const OwnerRow& row) { return row_of(row.entry) == LedgerRow::cached; }

// The largest part first.
std::vector<OwnerRow> rows_on(const Report& report, std::uint16_t device, const RowChoice& choice) {
  std::vector<OwnerRow> rows = owner_rows(report);
  std::erase_if(rows, [&](const OwnerRow& row) {
    return row.entry.device != device || row.entry.device_bytes == 0;
  });
  std::stable_sort(rows.begin(), rows.end(), [](const OwnerRow& a, const OwnerRow& b) {
    return a.entry.device_bytes > b.entry.device_bytes;
  });
  arrange(rows, owner_columns(), choice);
  return rows;
}

// Segments of several processes are not listed, so that its three parts are known together alone.
std::string cached_in_several(const OwnerRow& row, const std::string& amount,
                              const Report& report) {
  return amount + (have_all_ended(report) ? ") was" : ") is") +
         " reserved beyond what was requested: rounding of requests, the unused rest of segments, "
         "and freed memory cached by " +
         row.entry.owner;
}

// What is with nobody stands in words: as a row it reads as if somebody held it.
std::string cached_text(const OwnerRow& row, std::uint64_t used, const Report& report,
                        const Page& page) {
  const std::uint64_t bytes = row.entry.device_bytes;
  const std::string amount = amount_text(bytes) + " (" + percent_text(bytes, used);
  if (is_of_several(report)) {
    return paragraph(printable(cached_in_several(row, amount, report), page), page);
  }
  return paragraph(
      amount + ") is cached by " + printable(row.entry.owner, page) +
          ": free memory that it keeps to serve the next requests. The program does not hold it" +
          goes_back_text(report, row.entry),
      page);
}

std::string managed_text(std::uint64_t used, std::uint64_t managed, const Page& page) {
  if (managed == 0) return "";
  return paragraph("managed: its pages may lie on the host; without them " +
                       amount_text(used - managed) + " are used",
                   page);
}

// What is used of the device in the end, by whom.
std::string device_part(const Report& report, const DeviceFacts& facts, const Page& page,
                        const RowChoice& choice) {
  using enum Table::Align;
  const std::uint64_t used = used_on(report, facts.index, "");
  const std::uint64_t managed = used_on(report, facts.index, "managed");
  const std::uint64_t others = used_on(report, facts.index, words_of(LedgerRow::others).first);
  const bool is_bound = managed != 0 || (is_of_several(report) && others != 0);
  std::string title = when_used(report) + (is_bound ? "up to " : "") + amount_text(used);
  const bool is_known = facts.total_bytes != 0;  // not in files of other tools
  if (!is_of_several(report) && is_known) title += " of " + amount_text(facts.total_bytes);
  title += " used on " + gpu_name(report, facts.index) +
           (facts.name.empty() ? "" : ", " + printable(facts.name, page)) +
           (is_known ? "" : ", as far as the file tells") +
           (report.chosen ? ", regardless of the filter" : "");
  std::vector<OwnerRow> rows = rows_on(report, facts.index, choice);
  std::string cached;
  for (const OwnerRow& row : rows) {
    if (is_cached(row)) cached += cached_text(row, used, report, page);
  }
  std::erase_if(rows, is_cached);
  Columns<OwnerRow> columns = picked(owner_columns(), {"BYTES", "KIND", "OWNER"});
  columns.insert(columns.begin() + 1, {{"SHARE", right}, [used](const OwnerRow& row) {
                                         return percent_text(row.entry.device_bytes, used);
                                       }});
  const Table table = table_of(columns, rows, page, choice.most);
  const std::size_t shown = rows_shown(rows.size(), choice.most);
  return "\n" + heading(title, page) + (table.empty() ? "" : table.text(page)) +
         more_rows_text(rows.size() - shown) + cached + managed_text(used, managed, page);
}

}  // namespace

Columns<OwnerRow> owner_columns() {
  using Row = OwnerRow;
  const auto of = within(&Row::entry);
  const auto at_peak = [](const Row& row) { return row.at_peak ? amount_text(*row.at_peak) : ""; };
  return {
      device_column<Row>(of(&LedgerEntry::device)),
      {"kind", "kind of memory, or `cached`, `unaccounted`, `others`", of(&LedgerEntry::kind),
       Titled("KIND")},
      {"owner", "whose code asked, or what the driver keeps it for", of(&LedgerEntry::owner),
       Titled("OWNER")},
      {"current_bytes", "requested, live", of(&LedgerEntry::current_bytes), Titled("NOW", 1)},
      {"at_peak_bytes",
       "requested, when all of the kind was at its peak on the device; `null`: not known, or no "
       "call asked for it",
       &Row::at_peak, Titled("AT PEAK"), at_peak},
      {"peak_bytes",
       "most that this owner held of the kind; of a merged report the sum over its processes",
       of(&LedgerEntry::peak_bytes), Titled("OWN PEAK", 3)},
      {"calls", "successful allocations", of(&LedgerEntry::calls), Titled("CALLS", 2)},
      {"device_bytes", "its part of what is used of the device", of(&LedgerEntry::device_bytes),
       Titled("BYTES")},
      {{"MEMORY"}, &Row::memory}};
}

Column<Report> ledger_field(const char* doc, const RowChoice& choice) {
  return {"ledger", doc, owner_columns(), [choice](const Report& report) {
            return chosen_rows(owner_rows(report), owner_columns(), choice);
          }};
}

Columns<Report> owners_fields(const Report& report, const RowChoice& choice) {
  const auto index = [](const DeviceReport& device) { return device.facts.index; };
  const Columns<DeviceReport> device{
      {"device", "number of the GPU", index},
      {"gpu", "as texts call it: `GPU 0`",
       [&report](const auto& row) { return gpu_name(report, row.facts.index); }},
      {"total_bytes", "of the GPU", [](const auto& row) { return row.facts.total_bytes; }},
      {"used_bytes", "used of it: the sum of `device_bytes` of all rows, regardless of a filter",
       [&report](const auto& row) { return used_on(report, row.facts.index, ""); }}};
  return {{"devices", "GPUs", device, &Report::devices},
          ledger_field("in the report's order", choice)};
}

std::string owners_text(const Report& report, const Page& page, const RowChoice& choice,
                        const NameFrame& name) {
  std::string result = peak_part(report, page, choice);
  std::vector<LedgerEntry> rows;  // of all devices
  std::size_t devices = 0;
  for (const DeviceReport& device : report.devices) {
    std::vector<OwnerRow> on_device = rows_on(report, device.facts.index, choice);
    const bool passes_any = !report.chosen || !on_device.empty();
    if (used_on(report, device.facts.index, "") == 0 || !passes_any) continue;
    result += device_part(report, device.facts, page, choice);
    for (const OwnerRow& row : on_device) rows.push_back(row.entry);
    ++devices;
  }
  const std::string words = owners_words(report, rows, page);
  if (devices > 1 && !words.empty()) result += "\n";
  return result + words + totals_text(report, page, name);
}

std::string owners_json(const Report& report, const RowChoice& choice) {
  return json_of(report, owners_fields(report, choice));
}

void add_owners_csv(CsvText& csv, const Report& report, const RowChoice& choice) {
  add_rows(csv, chosen_rows(owner_rows(report), owner_columns(), choice), owner_columns());
}

}  // namespace vramscope
