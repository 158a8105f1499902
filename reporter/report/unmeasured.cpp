// Moves rows of the ledger to "others".
// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/unmeasured.h"

#include <algorithm>

#include "reporter/report/ledger_row.h"
#include "reporter/report/report.h"

namespace vramscope {
namespace {

bool is_difference(const LedgerEntry& entry, std::uint16_t device) {
  const LedgerRow row = row_of(entry);
  return entry.device == device && (row == LedgerRow::contexts || row == LedgerRow::modules);
}

// The new row takes the position of the first row that is removed.
void count_with_others(Report& report, std::uint16_t device) {
  std::vector<LedgerEntry>& ledger = report.ledger;
  std::uint64_t bytes = 0;
  for (const LedgerEntry& entry : ledger)
    bytes += is_difference(entry, device) ? entry.device_bytes : 0;
  const auto [kind, owner] = words_of(LedgerRow::others);
  const auto is_rest = [&, kind = kind, owner = owner](const LedgerEntry& entry) {
    return entry.device == device && entry.kind == kind && entry.owner == owner;
  };
  if (bytes != 0 && std::none_of(ledger.begin(), ledger.end(), is_rest)) {
    const auto first = std::find_if(ledger.begin(), ledger.end(), [&](const LedgerEntry& entry) {
      return is_difference(entry, device);
    });
    ledger.insert(first, LedgerEntry{.device = device, .kind = kind, .owner = owner});
  }
  for (LedgerEntry& entry : ledger) {
    if (!is_rest(entry)) continue;
    entry.current_bytes = entry.peak_bytes = entry.device_bytes += bytes;
    break;
  }
  std::erase_if(ledger, [&](const LedgerEntry& entry) { return is_difference(entry, device); });
}

void count_with_others(OomReport& oom, std::uint16_t device) {
  for (OomEvent& event : oom.events) {
    if (event.device == device) event.context_bytes = event.module_bytes = 0;
  }
}

}  // namespace

bool are_contexts_measured(const Report& report, std::uint16_t device) {
  const auto is_told = [&](const DeviceReport& one) {
    return one.facts.index == device && is_measured(one.facts.measured_by);
  };
  return std::any_of(report.devices.begin(), report.devices.end(), is_told);
}

void count_unmeasured_with_others(Report& report) {
  for (DeviceReport& device : report.devices) {
    DeviceFacts& facts = device.facts;
    if (is_measured(facts.measured_by)) continue;
    count_with_others(report, facts.index);
    facts.context_bytes = facts.module_bytes = 0;
    if (facts.limit_bytes != 0) continue;
    count_with_others(report.oom, facts.index);
    for (MergedProcess& process : report.processes) count_with_others(process.oom, facts.index);
  }
}

}  // namespace vramscope
