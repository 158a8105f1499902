// Compares the sums by owner that a report has with those of its call stacks.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/leaks/told_owners.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "reporter/record/stack/owners.h"
#include "reporter/report/attribution.h"
#include "reporter/report/report.h"
#include "reporter/view/analysis/leaks/site_owner.h"

namespace vramscope {
namespace {

using Memory = std::pair<std::uint16_t, Kind>;
using ByOwner = std::map<std::string, AxisEntry>;

auto bytes_and_counts(const SiteTotals& totals) {
  return std::tuple(totals.live_bytes, totals.live_count, totals.peak_bytes, totals.peak_count,
                    totals.total_bytes, totals.total_count);
}

SiteTotals sum_of(const ByOwner& owners) {
  SiteTotals sum;
  for (const auto& [name, entry] : owners) sum += entry.totals;
  return sum;
}

std::map<Memory, ByOwner> told_by_the_report(const Report& report) {
  std::map<Memory, ByOwner> told;
  for (const AxisEntry& entry : report.axes) {
    if (entry.axis == Axis::owner) told[{entry.device, entry.kind}][entry.value] = entry;
  }
  return told;
}

// Without memory of which not every call has a stack.
std::map<Memory, ByOwner> told_by_stacks(const Report& report) {
  std::map<Memory, ByOwner> told;
  std::vector<Memory> untold;
  for (const Site& site : report.sites) {
    const std::string owner = owner_of_stack(report, site.frames);
    for (const SitePart& part : site.parts) {
      const Memory memory(part.device, part.kind);
      if (site.frames.empty() || site.is_left_out) untold.push_back(memory);
      AxisEntry& entry = told[memory][owner];
      entry.axis = Axis::owner;
      entry.value = owner;
      entry.device = part.device;
      entry.kind = part.kind;
      entry.totals += part.totals;
    }
  }
  for (const Memory& memory : untold) told.erase(memory);
  return told;
}

bool are_same(const ByOwner& a, const ByOwner& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& one, const auto& other) {
    return one.first == other.first &&
           bytes_and_counts(one.second.totals) == bytes_and_counts(other.second.totals);
  });
}

// Earlier versions took some folders for packages: of other owners they knew as much.
bool may_be_wrong(const ByOwner& owners) {
  return std::any_of(owners.begin(), owners.end(), [](const auto& owner) {
    return owner.first == kPythonOwner ||
           std::any_of(owner_rules().begin(), owner_rules().end(), [&](const OwnerRule& rule) {
             return rule.by == OwnerRule::By::package && rule.owner == owner.first;
           });
  });
}

void tell_own_peaks(ByOwner& stacks, const ByOwner& before) {
  for (auto& [name, entry] : stacks) {
    const SiteTotals& totals = entry.totals;
    entry.own_peak_bytes = std::max(totals.peak_bytes, totals.live_bytes);
    for (const auto& [other_name, other] : before) {
      if (bytes_and_counts(other.totals) == bytes_and_counts(totals)) {
        entry.own_peak_bytes = other.own_peak_bytes;
      }
    }
  }
}

bool is_of(const LedgerEntry& row, const Memory& memory, const ByOwner& owners) {
  return row.calls != 0 && row.device == memory.first &&
         row.kind == kKindNames[static_cast<std::size_t>(memory.second)] &&
         owners.contains(row.owner);
}

// The device's bytes of the rows that go are shared out by what the owners hold.
void tell_ledger(Report& report, const Memory& memory, const ByOwner& before,
                 const ByOwner& stacks) {
  const auto first =
      std::find_if(report.ledger.begin(), report.ledger.end(),
                   [&](const LedgerEntry& row) { return is_of(row, memory, before); });
  if (first == report.ledger.end()) return;
  const auto at = first - report.ledger.begin();
  std::uint64_t on_device = 0;
  for (const LedgerEntry& row : report.ledger) {
    if (is_of(row, memory, before)) on_device += row.device_bytes;
  }
  std::erase_if(report.ledger, [&](const LedgerEntry& row) { return is_of(row, memory, before); });
  std::uint64_t live = sum_of(stacks).live_bytes;
  std::vector<LedgerEntry> rows;
  for (const auto& [name, entry] : stacks) {
    if (entry.totals.total_count == 0) continue;
    const std::uint64_t bytes = entry.totals.live_bytes;
    const auto part = live == 0 ? on_device
                                : static_cast<std::uint64_t>(static_cast<double>(on_device) *
                                                             static_cast<double>(bytes) /
                                                             static_cast<double>(live));
    const std::uint64_t given = bytes == live ? on_device : std::min(part, on_device);
    rows.push_back({.device = memory.first,
                    .kind = std::string(kKindNames[static_cast<std::size_t>(memory.second)]),
                    .owner = name,
                    .current_bytes = bytes,
                    .peak_bytes = entry.own_peak_bytes,
                    .calls = entry.totals.total_count,
                    .device_bytes = given});
    on_device -= given;
    live -= bytes;
  }
  report.ledger.insert(report.ledger.begin() + at, rows.begin(), rows.end());
}

}  // namespace

void tell_owners_anew(Report& report) {
  std::map<Memory, ByOwner> before = told_by_the_report(report);
  std::erase_if(before, [](const auto& memory) { return !may_be_wrong(memory.second); });
  if (before.empty()) return;
  bool is_changed = false;
  for (auto& [memory, stacks] : told_by_stacks(report)) {
    const auto found = before.find(memory);
    if (found == before.end() || are_same(found->second, stacks)) continue;
    if (bytes_and_counts(sum_of(found->second)) != bytes_and_counts(sum_of(stacks))) continue;
    tell_own_peaks(stacks, found->second);
    const Memory its = memory;
    std::erase_if(report.axes, [&](const AxisEntry& entry) {
      return entry.axis == Axis::owner && Memory(entry.device, entry.kind) == its;
    });
    for (const auto& [name, entry] : stacks) report.axes.push_back(entry);
    tell_ledger(report, memory, found->second, stacks);
    is_changed = true;
  }
  if (is_changed) sort_axes(report.axes);
}

}  // namespace vramscope
