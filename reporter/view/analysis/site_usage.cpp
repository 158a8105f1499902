// Takes what sites did from their parts.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/site_usage.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "allocator/base/place.h"
#include "reporter/report/merged_process.h"
#include "reporter/view/analysis/subject.h"

namespace vramscope {
namespace {

// Blocks that wait for their free to be complete, by site, kind and device.
struct Pending {
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;
};
using PendingBySite = std::map<std::tuple<std::size_t, Kind, std::uint16_t>, Pending>;

void add_pending(const std::vector<SegmentFacts>& segments, PendingBySite& pending) {
  for (const SegmentFacts& segment : segments) {
    for (const BlockFacts& block : segment.blocks) {
      if (block.state != BlockState::active_pending_free || block.site < 0) continue;
      const auto site = static_cast<std::size_t>(block.site);
      Pending& sum = pending[{site, segment.kind, segment.device}];
      sum.bytes += block.requested_size;
      ++sum.count;
    }
  }
}

PendingBySite pending_by_site(const Report& report) {
  PendingBySite pending;
  for (const DeviceReport& device : report.devices) add_pending(device.segments, pending);
  add_pending(report.host.segments, pending);
  return pending;
}

// `amount` of what is `exact`, at the scale of its estimate.
std::uint64_t scaled(std::uint64_t amount, std::uint64_t exact, std::uint64_t estimate) {
  if (exact == 0 || exact == estimate) return amount;
  return static_cast<std::uint64_t>(static_cast<double>(amount) / static_cast<double>(exact) *
                                    static_cast<double>(estimate));
}

std::uint64_t without(std::uint64_t estimate, std::uint64_t freed, std::uint64_t exact) {
  return estimate - std::min(estimate, scaled(freed, exact, estimate));
}

// What the program freed stays with its site until it can be handed out again, which after the last
// call may be never.
std::vector<SiteUsage> usage_less(const Report& report, const PendingBySite& pending) {
  std::vector<SiteUsage> usage;
  for (std::size_t i = 0; i < report.sites.size(); ++i) {
    for (const SitePart& part : report.sites[i].parts) {
      if (!holds_memory(part.kind)) continue;
      const auto found = pending.find({i, part.kind, part.device});
      const Pending freed = found == pending.end() ? Pending() : found->second;
      const SiteTotals& exact = part.totals;
      const SiteTotals& told = numbers_of(part);
      usage.push_back(
          {.site = i,
           .kind = part.kind,
           .device = part.device,
           .totals = told,
           .never_freed_bytes = without(told.live_bytes, freed.bytes, exact.live_bytes),
           .never_freed_count = without(told.live_count, freed.count, exact.live_count)});
    }
  }
  return usage;
}

}  // namespace

std::vector<SiteUsage> usage_by_site(const Report& report) { return usage_less(report, {}); }

std::vector<SiteUsage> usage_with_never_freed(const Report& report) {
  return usage_less(report, pending_by_site(report));
}

bool tells_frees(const Report& report) {
  const bool is_imported = trigger_of(report) == Trigger::imported ||
                           report.process.mode == "imported";  // a trace was made of it
  return !is_imported || report.timeline.duration_ns != 0;
}

bool is_measured_in_time(const Report& report) {
  if (trigger_of(report) == Trigger::imported) return false;
  if (!is_of_several(report)) return report.timeline.past_interval_ns != 0;
  return std::any_of(report.processes.begin(), report.processes.end(), [](const auto& process) {
    return process.timeline.allocations == 0 && trigger_of(process.trigger) != Trigger::imported;
  });
}

TemporaryShare temporary_share(const Report& report) {
  TemporaryShare share;
  if (!tells_frees(report)) return share;
  share.counts_last = is_measured_in_time(report);
  for (const Site& site : report.sites) {
    if (site.is_part) continue;
    std::uint64_t allocations = 0;  // views are none
    for (const SitePart& part : site.parts) {
      if (holds_memory(part.kind)) allocations += part.totals.total_count;
    }
    share.temporary += std::min(site.temporary_count, allocations);
    share.allocations += allocations;
  }
  return share;
}

}  // namespace vramscope
