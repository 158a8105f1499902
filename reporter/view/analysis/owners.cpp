// Takes apart the ledger, which adds up to each device.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/owners.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "reporter/base/axes.h"
#include "reporter/report/ledger_row.h"
#include "reporter/report/memory_name.h"
#include "reporter/view/analysis/report_figures.h"
#include "reporter/view/analysis/subject.h"

namespace vramscope {
namespace {

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

}  // namespace

std::vector<OwnerRow> owner_rows(const Report& report) { return owner_rows(report, report.ledger); }

namespace {

void add_peaks(OwnersAnswer& answer, const Report& report) {
  std::vector<OwnerRow>& rows = answer.at_peak = owner_rows(report);
  auto& sums = answer.peak_sums;
  std::erase_if(rows, [](const OwnerRow& row) { return row.entry.calls == 0; });
  for (const OwnerRow& row : rows) sums[row.memory] += row.at_peak.value_or(0);
  std::stable_sort(rows.begin(), rows.end(), [&](const OwnerRow& a, const OwnerRow& b) {
    return std::make_tuple(sums[b.memory], a.memory, b.at_peak, b.entry.peak_bytes) <
           std::make_tuple(sums[a.memory], b.memory, a.at_peak, a.entry.peak_bytes);
  });
}

// The largest part first.
std::vector<OwnerRow> rows_on(const Report& report, std::uint16_t device) {
  std::vector<OwnerRow> rows = owner_rows(report);
  std::erase_if(rows, [&](const OwnerRow& row) {
    return row.entry.device != device || row.entry.device_bytes == 0;
  });
  std::stable_sort(rows.begin(), rows.end(), [](const OwnerRow& a, const OwnerRow& b) {
    return a.entry.device_bytes > b.entry.device_bytes;
  });
  return rows;
}

}  // namespace

std::uint64_t used_on(const Report& report, std::uint16_t device, std::string_view kind) {
  std::uint64_t used = 0;
  const auto& ledger = report.chosen ? report.chosen->ledger : report.ledger;
  for (const OwnerRow& row : owner_rows(report, ledger)) {
    const LedgerEntry& entry = row.entry;
    const bool is_bound = is_of_several(report) && row_of(entry) == LedgerRow::others;
    const bool counts = entry.device == device && (kind.empty() ? !is_bound : entry.kind == kind);
    if (counts) used += entry.device_bytes;
  }
  return used;
}

OwnersAnswer owners_answer(const Report& report, const NameFrame& name) {
  OwnersAnswer answer;
  add_peaks(answer, report);
  for (const DeviceReport& device : report.devices) {
    const std::uint16_t index = device.facts.index;
    GpuOwners gpu{.facts = &device.facts, .used = used_on(report, index)};
    gpu.rows = rows_on(report, index);
    const bool passes_any = !report.chosen || !gpu.rows.empty();
    if (gpu.used == 0 || !passes_any) continue;
    if (!device.facts.unified) gpu.managed = used_on(report, index, "managed");
    gpu.others = used_on(report, index, words_of(LedgerRow::others).first);
    answer.gpus.push_back(std::move(gpu));
  }
  answer.leaked = leaked_of(report, name);
  return answer;
}

}  // namespace vramscope
