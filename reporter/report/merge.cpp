// Keeps the sums, and numbers everything anew at the end.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/merge.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "reporter/report/merge_frames.h"
#include "reporter/report/merge_numbers.h"
#include "reporter/report/merge_processes.h"
#include "reporter/report/merged_process.h"

namespace vramscope {
namespace {

constexpr const char* kMerged = "merged";
constexpr std::size_t kWarnings = 100;  // as a report has at most

using SiteNumbers = std::vector<std::uint32_t>;

void renumber(std::int64_t& site, const SiteNumbers& numbers) {
  if (site >= 0) site = numbers[static_cast<std::size_t>(site)];
}

void renumber(MergedProcess& process, const SiteNumbers& numbers) {
  for (KindFacts& kind : process.kinds) renumber(kind.peak_site, numbers);
  for (OomEvent& event : process.oom.events) {
    renumber(event.site, numbers);
    for (OomShare& share : event.shares) renumber(share.site, numbers);
    for (OomPin& pin : event.pins) renumber(pin.site, numbers);
  }
}

void take(std::uint64_t& from, std::uint64_t amount) { from -= std::min(from, amount); }

void take_pending(SiteTotals& totals, std::uint64_t bytes) {
  take(totals.live_bytes, bytes);
  take(totals.live_count, 1);
}

// What was freed and only waits is no longer the program's; blocks, which tell, are not kept.
void take_pending(std::vector<Site>& sites, const std::vector<SegmentFacts>& segments) {
  for (const SegmentFacts& segment : segments) {
    for (const BlockFacts& block : segment.blocks) {
      if (block.state != BlockState::active_pending_free || block.site < 0) continue;
      Site& site = sites[static_cast<std::size_t>(block.site)];
      take_pending(site.totals, block.requested_size);
      if (site.estimate) take_pending(*site.estimate, block.requested_size);
      for (SitePart& part : site.parts) {
        if (part.kind != segment.kind || part.device != segment.device) continue;
        take_pending(part.totals, block.requested_size);
        if (part.estimate) take_pending(*part.estimate, block.requested_size);
      }
    }
  }
}

bool comes_before(const Site& a, const Site& b) {
  const SiteTotals& x = a.totals;
  const SiteTotals& y = b.totals;
  return std::tie(y.peak_bytes, y.live_bytes, y.total_bytes, a.frames, a.is_left_out) <
         std::tie(x.peak_bytes, x.live_bytes, x.total_bytes, b.frames, b.is_left_out);
}

}  // namespace

class Merger::State {
 public:
  void add(Report&& report) {
    if (report.trigger == kMerged && report.processes.empty()) return;  // of none
    const std::vector<std::uint32_t> frames = frames_.add(report);
    for (const DeviceReport& device : report.devices) take_pending(report.sites, device.segments);
    take_pending(report.sites, report.host.segments);
    const SiteNumbers numbers = add_sites(std::move(report.sites), frames);
    for (MergedProcess& process : merged_processes(report)) {
      renumber(process, numbers);
      process.timeline.past_interval_ns = 0;
      processes_.push_back(std::move(process));
    }
    for (DeviceReport& device : report.devices) add_device(device);
    host_.used = host_.used || report.host.used;
    add_counters(host_.statistics, report.host.statistics);
    add_numbers(host_.timing, report.host.timing);
    add_rows(report);
    range_marks_ += report.range_marks;
    sample_bytes_ = std::max(sample_bytes_, report.sample_bytes);
    dropped_stacks_ += report.dropped_stacks;
    unrecorded_calls_ += report.unrecorded_calls;
    for (std::string& warning : report.warnings) warnings_.insert(std::move(warning));
    while (warnings_.size() > kWarnings) warnings_.erase(std::prev(warnings_.end()));
  }

  Report finish() {
    Report report;
    report.tool_version = VRAMSCOPE_VERSION;
    report.trigger = kMerged;
    if (processes_.empty()) return report;
    const std::vector<std::uint32_t> frames = frames_.finish(report);
    const SiteNumbers numbers = order_sites(frames);
    report.sites = std::move(sites_);
    for (MergedProcess& process : processes_) renumber(process, numbers);
    std::stable_sort(processes_.begin(), processes_.end(),
                     [](const MergedProcess& a, const MergedProcess& b) {
                       return vramscope::comes_before(a, b);
                     });
    report.processes = std::move(processes_);
    for (auto& [index, device] : devices_) report.devices.push_back(std::move(device));
    report.host = std::move(host_);
    for (auto& [key, entry] : ledger_) report.ledger.push_back(std::move(entry));
    for (auto& [key, entry] : axes_) report.axes.push_back(std::move(entry));
    for (auto& [name, function] : functions_) report.functions.push_back(std::move(function));
    set_by_processes(report);
    report.range_marks = range_marks_;
    report.sample_bytes = sample_bytes_;
    report.dropped_stacks = dropped_stacks_;
    report.unrecorded_calls = unrecorded_calls_;
    report.warnings.assign(warnings_.begin(), warnings_.end());
    return report;
  }

 private:
  // The number here of each of them.
  SiteNumbers add_sites(std::vector<Site>&& sites, const std::vector<std::uint32_t>& frames) {
    SiteNumbers numbers;
    numbers.reserve(sites.size());
    for (Site& site : sites) {
      for (std::uint32_t& frame : site.frames) frame = frames[frame];
      std::string key(reinterpret_cast<const char*>(site.frames.data()),
                      site.frames.size() * sizeof(std::uint32_t));
      key += site.is_left_out ? '+' : '-';
      const auto [known, is_new] =
          site_numbers_.try_emplace(std::move(key), static_cast<std::uint32_t>(sites_.size()));
      numbers.push_back(known->second);
      if (is_new) {
        site.live_past.clear();
        sites_.push_back(std::move(site));
      } else {
        add_numbers(sites_[known->second], site);
      }
    }
    return numbers;
  }

  // The place of each of them.
  SiteNumbers order_sites(const std::vector<std::uint32_t>& frames) {
    for (Site& site : sites_) {
      for (std::uint32_t& frame : site.frames) frame = frames[frame];
      std::sort(site.parts.begin(), site.parts.end(), [](const SitePart& a, const SitePart& b) {
        return std::tie(a.kind, a.device) < std::tie(b.kind, b.device);
      });
    }
    SiteNumbers order(sites_.size());
    std::iota(order.begin(), order.end(), 0U);
    std::sort(order.begin(), order.end(),
              [&](std::uint32_t a, std::uint32_t b) { return comes_before(sites_[a], sites_[b]); });
    SiteNumbers places(sites_.size());
    std::vector<Site> sorted;
    sorted.reserve(sites_.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) {
      places[order[i]] = i;
      sorted.push_back(std::move(sites_[order[i]]));
    }
    sites_ = std::move(sorted);
    return places;
  }

  void add_device(DeviceReport& device) {
    device.segments.clear();
    const auto [known, is_new] = devices_.try_emplace(device.facts.index);
    DeviceReport& sum = known->second;
    if (is_new) {
      sum = std::move(device);
      return;
    }
    add_numbers(sum.facts, device.facts);
    sum.used = sum.used || device.used;
    add_counters(sum.statistics, device.statistics);
    add_numbers(sum.timing, device.timing);
  }

  void add_rows(Report& report) {
    for (LedgerEntry& entry : report.ledger) {
      const auto [known, is_new] = ledger_.try_emplace({entry.device, entry.kind, entry.owner});
      LedgerEntry& sum = known->second;
      sum.device = entry.device;
      sum.kind = entry.kind;
      sum.owner = entry.owner;
      sum.current_bytes += entry.current_bytes;
      sum.peak_bytes += entry.peak_bytes;
      sum.calls += entry.calls;
      sum.device_bytes += entry.device_bytes;
    }
    for (AxisEntry& entry : report.axes) {
      const auto [known, is_new] =
          axes_.try_emplace({entry.axis, entry.value, entry.device, entry.kind});
      if (is_new) {
        known->second = std::move(entry);
      } else {
        known->second.own_peak_bytes += entry.own_peak_bytes;
        known->second.totals += entry.totals;
      }
    }
    for (FunctionFacts& function : report.functions) {
      FunctionFacts& sum = functions_[function.name];
      sum.name = function.name;
      sum.totals.calls += function.totals.calls;
      sum.totals.failures += function.totals.failures;
      add_numbers(sum.totals.time, function.totals.time);
    }
  }

  FrameTables frames_;
  std::vector<Site> sites_;
  std::unordered_map<std::string, std::uint32_t> site_numbers_;  // by frames here
  std::vector<MergedProcess> processes_;
  std::map<std::uint16_t, DeviceReport> devices_;
  HostReport host_;
  std::map<std::tuple<std::uint16_t, std::string, std::string>, LedgerEntry> ledger_;
  std::map<std::tuple<Axis, std::string, std::uint16_t, Kind>, AxisEntry> axes_;
  std::map<std::string, FunctionFacts> functions_;
  std::set<std::string> warnings_;
  std::uint64_t range_marks_ = 0;
  std::uint64_t sample_bytes_ = 0;
  std::uint64_t dropped_stacks_ = 0;
  std::uint64_t unrecorded_calls_ = 0;
};

Merger::Merger() : state_(std::make_unique<State>()) {}
Merger::~Merger() = default;
Merger::Merger(Merger&&) noexcept = default;
Merger& Merger::operator=(Merger&&) noexcept = default;

void Merger::add(Report&& report) { state_->add(std::move(report)); }
Report Merger::finish() { return state_->finish(); }

}  // namespace vramscope
