// Keeps the sums, and renumbers everything at the end.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/merge.h"

#include <malloc.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "allocator/base/place.h"
#include "reporter/report/ledger_row.h"
#include "reporter/report/merge_devices.h"
#include "reporter/report/merge_frames.h"
#include "reporter/report/merge_numbers.h"
#include "reporter/report/merge_processes.h"
#include "reporter/report/merge_sites.h"
#include "reporter/report/merged_process.h"
#include "reporter/report/process_store.h"
#include "reporter/report/site_list.h"
#include "reporter/report/symbol_table.h"
#include "reporter/report/trigger.h"

namespace vramscope {
namespace {

constexpr std::size_t kWarnings = 100;  // the most that a report has

void take(std::uint64_t& from, std::uint64_t amount) { from -= std::min(from, amount); }

void take_pending(SiteTotals& totals, std::uint64_t bytes) {
  take(totals.live_bytes, bytes);
  take(totals.live_count, 1);
}

// Subtracts memory whose free is pending, since it is no longer the program's. It is known from
// blocks, which are not kept.
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

// Takes the rows of others. Each process counts the rest of a device as theirs, including the
// processes that are merged.
std::uint64_t take_others(Report& report, const DeviceReport& device) {
  std::uint64_t bytes = 0;
  std::erase_if(report.ledger, [&](const LedgerEntry& entry) {
    const bool is_rest =
        has_kind_of(LedgerRow::others, entry.kind) && entry.device == device.facts.index;
    if (is_rest) bytes += entry.device_bytes;
    return is_rest;
  });
  return bytes;
}

using Memory = std::pair<Kind, std::uint16_t>;

// Returns live bytes without a known call site. With sampled stacks that is not known.
std::map<Memory, LiveShare> live_without_site(const Report& report) {
  std::map<Memory, LiveShare> rest;
  if (report.sample_bytes != 0) return rest;
  for (const KindFacts& kind : report.kinds) {
    if (holds_memory(kind.kind)) rest[{kind.kind, kind.device}].live_bytes += kind.current_bytes;
  }
  for (const Site& site : report.sites) {
    for (const SitePart& part : site.parts) {
      const auto found = rest.find({part.kind, part.device});
      if (found != rest.end()) take(found->second.live_bytes, part.totals.live_bytes);
    }
  }
  return rest;
}

std::optional<std::uint64_t> tenths_of(const Site& site) {
  if (site.live_by_age.empty()) return std::nullopt;
  return static_cast<std::uint64_t>(std::count_if(site.live_by_age.begin(), site.live_by_age.end(),
                                                  [](std::uint64_t bytes) { return bytes != 0; }));
}

// Returns the largest live shares in the report of one process, whose pending frees were
// subtracted. All others are added to `rest`, which comes last.
std::vector<LiveShare> live_of(const Report& report, std::map<Memory, LiveShare> rest) {
  std::vector<LiveShare> live;
  for (std::size_t i = 0; i < report.sites.size(); ++i) {
    for (const SitePart& part : report.sites[i].parts) {
      const SiteTotals& totals = part.estimate ? *part.estimate : part.totals;
      if (!holds_memory(part.kind) || totals.live_bytes == 0) continue;
      live.push_back({.site = static_cast<std::int64_t>(i),
                      .kind = part.kind,
                      .device = part.device,
                      .live_bytes = totals.live_bytes,
                      .live_count = totals.live_count,
                      .cache = part.cache,
                      .tenths = tenths_of(report.sites[i])});
    }
  }
  std::stable_sort(live.begin(), live.end(), [](const LiveShare& a, const LiveShare& b) {
    return std::tie(b.live_bytes, b.live_count) < std::tie(a.live_bytes, a.live_count);
  });
  for (std::size_t i = kMostLive; i < live.size(); ++i) {
    LiveShare& sum = rest[{live[i].kind, live[i].device}];
    sum.live_bytes += live[i].live_bytes;
    sum.live_count += live[i].live_count;
  }
  live.resize(std::min(live.size(), kMostLive));
  for (auto& [memory, sum] : rest) {
    sum.kind = memory.first;
    sum.device = memory.second;
    if (sum.live_bytes != 0) live.push_back(sum);
  }
  return live;
}

}  // namespace

class Merger::State : public SiteList {
 public:
  // Processes take little beside sites, except for those with many devices.
  explicit State(std::uint64_t most_bytes)
      : sites_(most_bytes / 4 * 3), processes_(most_bytes / 4) {}

  void add(Report&& report) {
    if (trigger_of(report.trigger) == Trigger::merged && report.processes.empty())
      return;  // a merged report without processes
    are_own_ = are_own_ && report.is_own_file;
    const std::vector<std::uint32_t> frames = frames_.add(report);
    symbols_.add(report, frames);
    std::map<Memory, LiveShare> rest = live_without_site(report);
    for (const DeviceReport& device : report.devices) take_pending(report.sites, device.segments);
    take_pending(report.sites, report.host.segments);
    for (Site& site : report.sites) {
      for (std::uint32_t& frame : site.frames) frame = frames[frame];
    }
    std::vector<MergedProcess> processes = merged_processes(report);
    if (report.processes.empty()) processes.front().live = live_of(report, std::move(rest));
    const DeviceNumbers numbers = all_devices_.add(report, processes);
    for (MergedProcess& process : processes) {
      renumber_sites(process, [&](std::size_t site) { return sites_.refer(report.sites[site]); });
      process.timeline.past_interval_ns = process.timeline.past_interval = 0;
      processes_.add(process);
    }
    for (Site& site : report.sites) {
      for (SitePart& part : site.parts) renumber(part.kind, part.device, numbers);
      sites_.add(std::move(site));
    }
    for (ThreadStart& start : report.threads) {
      for (std::uint32_t& frame : start.frames) frame = frames[frame];
      threads_[std::move(start.frames)].insert(std::move(start.thread));
    }
    for (DeviceReport& device : report.devices) {
      take_for_sum(device, take_others(report, device));
      renumber(device.facts.index, numbers);
      add_device(device);
    }
    host_.used = host_.used || report.host.used;
    add_counters(host_.statistics, report.host.statistics);
    add_numbers(host_.timing, report.host.timing);
    add_rows(report, numbers);
    range_marks_ += report.range_marks;
    sample_bytes_ = std::max(sample_bytes_, report.sample_bytes);
    dropped_stacks_ += report.dropped_stacks;
    unrecorded_calls_ += report.unrecorded_calls;
    for (std::string& warning : report.warnings) warnings_.insert(std::move(warning));
    while (warnings_.size() > kWarnings) warnings_.erase(std::prev(warnings_.end()));
  }

  // The processes are brief ones, and there are no sites.
  Report finish() {
    Report report;
    report.tool_version = VRAMSCOPE_VERSION;
    report.trigger = word_of(Trigger::merged);
    if (processes_.size() == 0) return report;
    malloc_trim(0);  // what the threads needed that read the reports
    const std::vector<std::uint32_t> frames = frames_.finish(report);
    report.symbols = symbols_.facts(frames);
    const DeviceNumbers numbers = all_devices_.finish(processes_.brief());
    sites_.finish(frames, numbers);
    processes_.finish(sites_.places());
    report.processes = processes_.brief();
    number_devices(numbers);
    for (auto& [index, device] : devices_) report.devices.push_back(std::move(device));
    report.host = std::move(host_);
    for (auto& [key, entry] : ledger_) report.ledger.push_back(std::move(entry));
    report.axes = take_axes();
    set_threads(report, frames);
    for (auto& [name, function] : functions_) report.functions.push_back(std::move(function));
    set_by_processes(report, processes_);
    label_gpus(report);
    report.range_marks = range_marks_;
    report.sample_bytes = sample_bytes_;
    report.dropped_stacks = dropped_stacks_;
    report.unrecorded_calls = unrecorded_calls_;
    report.warnings.assign(warnings_.begin(), warnings_.end());
    report.is_own_file = are_own_;
    return report;
  }
  Report finish_all() {
    Report report = finish();
    report.sites = sites_.take();
    for (std::size_t i = 0; i < report.processes.size(); ++i) {
      report.processes[i] = processes_.at(i);
    }
    return report;
  }

  // What the report lacks after finish().
  [[nodiscard]] std::size_t size() const override { return sites_.size(); }
  [[nodiscard]] Site at(std::size_t index) const override { return sites_.at(index); }
  [[nodiscard]] const ProcessList* processes() const override { return &processes_; }

 private:
  // others_bytes: the value in the device's report. What each process sees of others is in
  // `processes_`.
  static void take_for_sum(DeviceReport& device, std::uint64_t others_bytes) {
    device.segments.clear();
    take(device.facts.outside_bytes, others_bytes);
  }

  void add_device(DeviceReport& device) {
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

  // frames: the new number of each frame.
  void set_threads(Report& report, const std::vector<std::uint32_t>& frames) {
    std::size_t count = 0;
    for (const auto& [its, alike] : threads_) count += alike.size();
    report.threads.reserve(count);
    for (auto& [its, alike] : threads_) {
      std::vector<std::uint32_t> renumbered = its;
      for (std::uint32_t& frame : renumbered) frame = frames[frame];
      while (!alike.empty()) {
        std::string thread = std::move(alike.extract(alike.begin()).value());
        report.threads.push_back({.thread = std::move(thread), .frames = renumbered});
      }
    }
    std::sort(report.threads.begin(), report.threads.end(),
              [](const ThreadStart& a, const ThreadStart& b) {
                return std::tie(a.thread, a.frames) < std::tie(b.thread, b.frames);
              });
  }

  void add_entry(LedgerEntry&& entry) {
    const auto [known, is_new] = ledger_.try_emplace({entry.device, entry.kind, entry.owner});
    LedgerEntry& sum = known->second;
    if (is_new) {
      sum = std::move(entry);
      return;
    }
    sum.current_bytes += entry.current_bytes;
    sum.peak_bytes += entry.peak_bytes;
    sum.calls += entry.calls;
    sum.device_bytes += entry.device_bytes;
  }
  void add_entry(AxisEntry&& entry) {
    axes_[{entry.axis, std::move(entry.value), entry.device, entry.kind}] +=
        AxisSum{.own_peak_bytes = entry.own_peak_bytes, .totals = entry.totals};
  }

  // A row of each thread of each process may be many, so none is there twice.
  std::vector<AxisEntry> take_axes() {
    std::vector<AxisEntry> all;
    all.reserve(axes_.size());
    while (!axes_.empty()) {
      auto row = axes_.extract(axes_.begin());
      auto& [axis, value, device, kind] = row.key();
      all.push_back({.axis = axis,
                     .value = std::move(value),
                     .device = device,
                     .kind = kind,
                     .own_peak_bytes = row.mapped().own_peak_bytes,
                     .totals = row.mapped().totals});
    }
    return all;
  }

  // Devices that were separate may be one.
  void number_devices(const DeviceNumbers& numbers) {
    for (auto& [key, device] : std::exchange(devices_, {})) {
      renumber(device.facts.index, numbers);
      add_device(device);
    }
    for (auto& [key, entry] : std::exchange(ledger_, {})) {
      if (has_device(entry)) renumber(entry.device, numbers);
      add_entry(std::move(entry));
    }
    for (auto old = std::exchange(axes_, {}); !old.empty();) {
      auto row = old.extract(old.begin());
      auto& [axis, value, device, kind] = row.key();
      renumber(kind, device, numbers);
      const auto added = axes_.insert(std::move(row));
      if (!added.inserted) added.position->second += added.node.mapped();
    }
  }

  void add_rows(Report& report, const DeviceNumbers& numbers) {
    for (LedgerEntry& entry : report.ledger) {
      if (has_device(entry)) renumber(entry.device, numbers);
      add_entry(std::move(entry));
    }
    for (AxisEntry& entry : report.axes) {
      renumber(entry.kind, entry.device, numbers);
      add_entry(std::move(entry));
    }
    for (FunctionFacts& function : report.functions) {
      FunctionFacts& sum = functions_[function.name];
      sum.name = function.name;
      sum.totals.calls += function.totals.calls;
      sum.totals.failures += function.totals.failures;
      add_numbers(sum.totals.time, function.totals.time);
    }
  }

  struct AxisSum {
    std::uint64_t own_peak_bytes = 0;
    SiteTotals totals;

    AxisSum& operator+=(const AxisSum& more) {
      own_peak_bytes += more.own_peak_bytes;
      totals += more.totals;
      return *this;
    }
  };

  FrameTables frames_;
  SymbolTable symbols_;
  MergedSites sites_;
  ProcessStore processes_;
  MergedDevices all_devices_;
  std::map<std::uint16_t, DeviceReport> devices_;
  HostReport host_;
  std::map<std::tuple<std::uint16_t, std::string, std::string>, LedgerEntry> ledger_;
  std::map<std::tuple<Axis, std::string, std::uint16_t, Kind>, AxisSum> axes_;
  std::map<std::string, FunctionFacts> functions_;
  std::map<std::vector<std::uint32_t>, std::set<std::string>> threads_;  // by frames
  std::set<std::string> warnings_;
  std::uint64_t range_marks_ = 0;
  std::uint64_t sample_bytes_ = 0;
  std::uint64_t dropped_stacks_ = 0;
  std::uint64_t unrecorded_calls_ = 0;
  bool are_own_ = true;  // all files belong to the user
};

Merger::Merger(std::uint64_t most_bytes) : state_(std::make_unique<State>(most_bytes)) {}
Merger::~Merger() = default;
Merger::Merger(Merger&&) noexcept = default;
Merger& Merger::operator=(Merger&&) noexcept = default;

void Merger::add(Report&& report) { state_->add(std::move(report)); }
Report Merger::finish() { return state_->finish_all(); }
Report Merger::finish_but_lists() { return state_->finish(); }
const SiteList& Merger::lists() const { return *state_; }

}  // namespace vramscope
