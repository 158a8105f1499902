// Whose the bytes are: at the peak, and in the end by the ledger that adds up to each device.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/owners_text.h"

#include <algorithm>
#include <map>
#include <vector>

#include "reporter/report/ledger_row.h"
#include "reporter/report/memory_name.h"
#include "reporter/view/analysis/report_figures.h"
#include "reporter/view/analysis/site_usage.h"
#include "reporter/view/analysis/subject.h"
#include "reporter/view/listing/json_text.h"
#include "reporter/view/listing/site_columns.h"
#include "reporter/view/text/idle_text.h"
#include "reporter/view/text/owners_words.h"
#include "reporter/view/text/releasable_text.h"
#include "reporter/view/text/totals_text.h"
#include "reporter/view/text/words.h"

namespace vramscope {
namespace {

constexpr std::size_t kBarCells = 24, kShortBarCells = 8;
constexpr std::size_t kNarrow = 80;  // columns of a page

std::string peak_heading(const Report& report) {
  const std::vector<KindFacts> kinds = kinds_by_peak(report);
  std::string text = !tells_frees(report)    ? "At the snapshot"
                     : is_of_several(report) ? "At the peaks of all processes, added"
                     : kinds.size() == 1     ? "At the peak"
                                             : "At the peak of each kind of memory";
  text += ", requested bytes";
  for (const KindFacts& kind : kinds) {
    text += (&kind == &kinds.front() ? ": " : ", ") + memory_name(report, kind.kind, kind.device) +
            " " + amount_text(kind.peak_bytes) + of_all_text(report, kind);
  }
  return text;
}

void add_table(Document& text, const Columns<OwnerRow>& columns, const std::vector<OwnerRow>& rows,
               const Page& page, std::size_t most) {
  const std::size_t left = rows.size() - rows_shown(rows.size(), most);
  text.table(table_of(columns, rows, page, most),
             left == 0 ? "" : "  and " + std::to_string(left) + " more\n");
}

// What the allocator had from the driver for it is more: requests are rounded, and freed memory is
// kept. Nobody owns that.
void add_reserved(Document& text, const Report& report) {
  for (const KindFacts& kind : kinds_by_peak(report)) {
    const DeviceStatistics* const statistics = statistics_of(report, kind);
    if (statistics == nullptr) continue;
    const auto reserved = static_cast<std::uint64_t>(statistics->reserved_bytes.all.peak);
    if (reserved <= kind.peak_bytes) continue;
    const ReservedMemory memory = reserved_memory(report, *find_device(report, kind.device));
    const std::string needed = needed_text(report, memory);
    text.paragraph(memory_name(report, kind.kind, kind.device) + ": " +
                   (tells_frees(report) ? "at most " : "") + amount_text(reserved) +
                   " reserved from the driver, " + amount_text(reserved - kind.peak_bytes) +
                   " more than requested, for rounding and the allocator's cache" +
                   (needed.empty() ? "" : "; " + needed));
  }
}

// Contexts and loaded code were there at the peak, too; how large they were is known of the end.
void add_unaccounted(Document& text, const Report& report) {
  std::map<std::uint16_t, std::uint64_t> bytes;
  for (const LedgerEntry& entry : report.ledger) {
    const LedgerRow row = row_of(entry);
    const bool is_kept = row == LedgerRow::contexts || row == LedgerRow::modules;
    if (is_kept) bytes[entry.device] += entry.device_bytes;
  }
  for (const auto& [device, held] : bytes) {
    if (held == 0) continue;
    text.paragraph(gpu_name(report, device) + ": contexts and loaded code take another " +
                   amount_text(held) + " (see below)");
  }
}

// Whose it was when there was most of it.
Document peak_part(const Report& report, const OwnersAnswer& answer, const Page& page,
                   std::size_t most) {
  using enum Table::Align;
  const std::vector<OwnerRow>& rows = answer.at_peak;
  if (rows.empty()) return nothing_text(report);
  const bool is_told = std::any_of(rows.begin(), rows.end(),
                                   [](const OwnerRow& row) { return row.at_peak.has_value(); });
  const Columns<OwnerRow> all = owner_columns(run_history(report));
  Columns<OwnerRow> columns;
  if (is_told) {
    const std::size_t cells = page.width < kNarrow ? kShortBarCells : kBarCells;
    const auto of_peak = [&](auto text) {
      return [&, text](const OwnerRow& row) {
        return row.at_peak ? text(*row.at_peak, answer.peak_sums.at(row.memory)) : "";
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
  if (!tells_frees(report)) keep_what_was_live(columns);
  Document text;
  text.title(peak_heading(report));
  add_table(text, columns, rows, page, most);
  if (report.chosen) return text;
  add_reserved(text, report);
  add_unaccounted(text, report);
  return text;
}

std::size_t processes_on(const Report& report, std::uint16_t device) {
  return static_cast<std::size_t>(
      std::count_if(report.processes.begin(), report.processes.end(), [&](const auto& process) {
        return std::any_of(process.kinds.begin(), process.kinds.end(), [&](const KindFacts& kind) {
          return takes_device_memory(kind.kind) && kind.device == device && kind.peak_bytes != 0;
        });
      }));
}

// When what is told of the device was so. Of several processes it was told at an instant of each.
std::string when_used(const Report& report, std::uint16_t device) {
  if (is_of_several(report) && processes_on(report, device) == 1) {
    return have_all_ended(report) ? "As its process ended: " : "As its process wrote its report: ";
  }
  if (is_of_several(report)) {
    return have_all_ended(report) ? "As each process ended, at different times, added: "
                                  : "As each process wrote its report, at different times, added: ";
  }
  if (trigger_of(report) == Trigger::oom) return "When memory ran out: ";
  if (!tells_frees(report)) return "At the snapshot: ";
  return is_final(report) ? "At the end: " : "When the report was written: ";
}

bool is_cached(const OwnerRow& row) { return row_of(row.entry) == LedgerRow::cached; }

// Segments of several processes are not listed, so that its three parts are known together alone.
std::string cached_in_several(const OwnerRow& row, const std::string& amount,
                              const Report& report) {
  return amount + (have_all_ended(report) ? ") was" : ") is") +
         " reserved beyond what was requested: rounding of requests, the unused rest of segments, "
         "and freed memory cached by " +
         row.entry.owner;
}

// What is with nobody stands in words: as a row it reads as if somebody held it.
std::string cached_text(const OwnerRow& row, std::uint64_t used, const Report& report) {
  const std::uint64_t bytes = row.entry.device_bytes;
  const std::string amount = amount_text(bytes) + " (" + percent_text(bytes, used);
  if (is_of_several(report)) return cached_in_several(row, amount, report);
  return amount + ") is kept by " + row.entry.owner +
         " beyond what was requested: " + beyond_requests_text(report, row.entry) + ".";
}

std::string managed_text(std::uint64_t used, std::uint64_t managed) {
  if (managed == 0) return "";
  return "managed: these pages may lie on the host; without them, " + amount_text(used - managed) +
         " is used";
}

bool is_of_others(const OwnerRow& row) { return row_of(row.entry) == LedgerRow::others; }

// " (other processes measured 2.64 s earlier)": the driver was asked then, and what came later was
// recorded.
std::string others_age_text(const Report& report, const GpuOwners& gpu) {
  const std::uint64_t age_ns = gpu.facts->free_bytes_age_ns;
  if (is_of_several(report) || gpu.others == 0 || age_ns == 0) return "";
  return " (other processes measured " + duration_text(age_ns) + " earlier)";
}

// "At the end: 4.31 GiB of 140 GiB used on GPU 0, NVIDIA H200 (other processes measured 2.64 s
// earlier)".
std::string used_title(const Report& report, const GpuOwners& gpu) {
  const DeviceFacts& facts = *gpu.facts;
  const bool lacks_contexts = is_of_several(report) && !is_measured(facts.measured_by);
  std::string title =
      when_used(report, facts.index) + (gpu.managed != 0 ? "up to " : "") + amount_text(gpu.used);
  const bool is_known = facts.total_bytes != 0;  // not in files of other tools
  if (!is_of_several(report) && is_known) title += " of " + amount_text(facts.total_bytes);
  return title + " used on " + gpu_name(report, facts.index) +
         (facts.name.empty() ? "" : ", " + facts.name) + std::string(unified_words(facts)) +
         (is_known ? "" : ", as far as the file tells") +
         (lacks_contexts ? ", without contexts and code, which were not measured" : "") +
         others_age_text(report, gpu) + (report.chosen ? ", regardless of the filter" : "");
}

// What was outside of all processes of a merged report, which no sum has.
std::string others_of_several(const Report& report, const GpuOwners& gpu) {
  if (!is_of_several(report) || gpu.others == 0) return "";
  const std::size_t processes = processes_on(report, gpu.facts->index);
  const bool is_one = processes == 1;
  const std::string who = is_one ? "its process" : "the process that saw least outside itself";
  const std::string whose = is_one ? "it" : "these " + count_text(processes) + " processes";
  return "others, not in it: when " + who + " looked, at most " + amount_text(gpu.others) +
         " were outside of " + whose;
}

// What is used of the device in the end, by whom.
void add_device(Document& text, const Report& report, const GpuOwners& gpu, const Page& page,
                std::size_t most) {
  using enum Table::Align;
  const std::uint64_t used = gpu.used;
  std::vector<OwnerRow> rows = gpu.rows;
  if (is_of_several(report)) std::erase_if(rows, is_of_others);
  std::vector<OwnerRow> cached;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(cached), is_cached);
  std::erase_if(rows, is_cached);
  Columns<OwnerRow> columns =
      picked(owner_columns(run_history(report)), {"BYTES", "KIND", "OWNER"});
  columns.insert(columns.begin() + 1, {{"SHARE", right}, [used](const OwnerRow& row) {
                                         return percent_text(row.entry.device_bytes, used);
                                       }});
  text.gap();
  text.title(used_title(report, gpu));
  add_table(text, columns, rows, page, most);
  for (const OwnerRow& row : cached) text.paragraph(cached_text(row, used, report));
  text.paragraph(managed_text(used, gpu.managed));
  text.paragraph(others_of_several(report, gpu));
}

}  // namespace

Columns<OwnerRow> owner_columns(RunHistory history) {
  using Row = OwnerRow;
  const auto of = within(&Row::entry);
  const auto at_peak = [](const Row& row) { return row.at_peak ? amount_text(*row.at_peak) : ""; };
  Columns<Row> columns{
      device_column<Row>(of(&LedgerEntry::device)),
      {"kind", "kind of memory, or `cached`, `unaccounted`, `others`", of(&LedgerEntry::kind),
       Titled("KIND")},
      {"owner", "program or library whose code requested it, or the driver's purpose",
       of(&LedgerEntry::owner), Titled("OWNER")},
      {"current_bytes", "requested, live", of(&LedgerEntry::current_bytes), Titled("NOW", 1)},
      {"at_peak_bytes",
       "requested bytes when the kind was at its peak on the device; `null`: not known, or no "
       "call requested it",
       &Row::at_peak, Titled("AT PEAK"), at_peak},
      {"peak_bytes",
       "this owner's own peak of the kind; in a merged report, the sum over its processes",
       of(&LedgerEntry::peak_bytes), Titled("OWN PEAK", 3)},
      {"calls", "successful allocations", of(&LedgerEntry::calls), Titled("CALLS", 2)},
      {"device_bytes", "its share of the device's used memory", of(&LedgerEntry::device_bytes),
       Titled("BYTES")},
      {{"MEMORY"}, &Row::memory}};
  need_history(columns, {"at_peak_bytes", "peak_bytes"}, history);
  return columns;
}

Column<Report> ledger_field(const char* doc, const Report& report, const RowChoice& choice) {
  const Columns<OwnerRow> columns = owner_columns(run_history(report));
  return {"ledger", doc, columns,
          [=](const Report& of) { return chosen_rows(owner_rows(of), columns, choice); }};
}

Columns<Report> owners_fields(const Report& report, const RowChoice& choice) {
  const auto index = [](const DeviceReport& device) { return device.facts.index; };
  const Columns<DeviceReport> device{
      {"device", "number of the GPU", index},
      {"gpu", "as texts call it: `GPU 0`",
       [&report](const auto& row) { return gpu_name(report, row.facts.index); }},
      {"total_bytes", "of the GPU", [](const auto& row) { return row.facts.total_bytes; }},
      {"used_bytes",
       "used memory of the GPU: the sum of `device_bytes` over all rows, with or without a filter; "
       "in a merged report, without the row `others`, which is a bound",
       [&report](const auto& row) { return used_on(report, row.facts.index); }},
      {"others_age_ns",
       "time between the report and the driver's answer from which `others` follows; "
       "`null`: of a merged report",
       [&report](const auto& row) {
         return is_of_several(report) ? std::nullopt : std::optional(row.facts.free_bytes_age_ns);
       }}};
  return {{"devices", "GPUs", device, &Report::devices},
          ledger_field("in the report's order", report, choice)};
}

void arrange_owners(OwnersAnswer& answer, const Report& report, const RowChoice& choice) {
  const Columns<OwnerRow> columns = owner_columns(run_history(report));
  arrange(answer.at_peak, columns, choice);
  for (GpuOwners& gpu : answer.gpus) arrange(gpu.rows, columns, choice);
}

Document owners_text(const Report& report, const OwnersAnswer& answer, const Page& page,
                     std::size_t most) {
  Document text = peak_part(report, answer, page, most);
  std::vector<LedgerEntry> rows;  // of all devices
  for (const GpuOwners& gpu : answer.gpus) {
    add_device(text, report, gpu, page, most);
    for (const OwnerRow& row : gpu.rows) rows.push_back(row.entry);
  }
  const Document words = owners_words(report, rows);
  answer.gpus.size() > 1 ? text.append_apart(words) : text.append(words);
  text.append(totals_text(report, answer.leaked), kUnlessRepeated);
  return text;
}

std::string owners_json(const Report& report, const RowChoice& choice) {
  return json_of(report, owners_fields(report, choice));
}

void add_owners_csv(CsvText& csv, const Report& report, const RowChoice& choice) {
  const Columns<OwnerRow> columns = owner_columns(run_history(report));
  add_rows(csv, chosen_rows(owner_rows(report), columns, choice), columns);
}

}  // namespace vramscope
