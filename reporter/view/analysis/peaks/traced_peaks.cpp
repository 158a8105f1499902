// Merges what the traces of several processes say, by time.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/peaks/traced_peaks.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "allocator/base/place.h"
#include "reporter/report/merge_devices.h"
#include "reporter/report/merged_process.h"
#include "reporter/report/traces/trace_reader.h"
#include "reporter/view/analysis/peaks/usage_bounds.h"
#include "reporter/view/analysis/replay/trace_follower.h"
#include "reporter/view/analysis/replay/trace_report.h"

namespace vramscope {
namespace {

struct Traced {
  std::uint64_t boot_ns = 0;                   // since 1970: what one host says to all
  std::map<std::uint16_t, HeldSteps> devices;  // all chosen kinds on each, by CLOCK_MONOTONIC
  std::uint64_t peak = 0;                      // of all devices together
};

class UsageSteps : public TraceObserver {
 public:
  explicit UsageSteps(const MergedProcess& process) {
    for (const ProcessDevice& device : process.devices) numbers_[ordinal_of(device)] = device.index;
    for (const KindFacts& kind : process.kinds) {
      if (takes_device_memory(kind.kind))
        kinds_[{kind.kind, kind.device}] = {.told = kind.peak_bytes};
    }
  }

  void came(const TraceBlock& block, const FollowedEvent& now) override {
    change(block.place, block.bytes, now.clock_ns);
  }
  // Sums are modulo 2^64, which damage alone would show.
  void went(const TraceBlock& block, const FollowedEvent& now, TraceMemory::End) override {
    change(block.place, 0 - block.bytes, now.clock_ns);
  }

  // What is live then goes with the process.
  [[nodiscard]] std::map<std::uint16_t, HeldSteps> finish(std::uint64_t end_ns) {
    for (auto& [device, history] : devices_) history.push_back({.at_ns = end_ns, .bytes = 0});
    return std::move(devices_);
  }

  [[nodiscard]] std::uint64_t peak() const { return peak_; }

  [[nodiscard]] bool has_the_reports_peaks() const {
    return std::all_of(kinds_.begin(), kinds_.end(),
                       [](const auto& kind) { return kind.second.peak == kind.second.told; });
  }

 private:
  struct OfKind {
    std::uint64_t told = 0;  // the peak that the report has
    std::uint64_t live = 0;
    std::uint64_t peak = 0;
  };

  void change(Place place, std::uint64_t bytes, std::uint64_t clock_ns) {
    renumber(place.kind, place.device, numbers_);
    const auto found = kinds_.find({place.kind, place.device});
    if (found == kinds_.end() || bytes == 0) return;
    OfKind& kind = found->second;
    kind.live += bytes;
    kind.peak = std::max(kind.peak, kind.live);
    live_ += bytes;
    peak_ = std::max(peak_, live_);
    HeldSteps& history = devices_[place.device];
    const std::uint64_t before = history.empty() ? 0 : history.back().bytes;
    history.push_back({.at_ns = clock_ns, .bytes = before + bytes});
  }

  DeviceNumbers numbers_;  // in the report, by the process's own
  std::map<std::pair<Kind, std::uint16_t>, OfKind> kinds_;
  std::map<std::uint16_t, HeldSteps> devices_;
  std::uint64_t live_ = 0;  // of all devices
  std::uint64_t peak_ = 0;
};

std::optional<Traced> traced(TraceReader& reader, const MergedProcess& process) {
  if (reader.begin() != nullptr) return std::nullopt;  // what it held before is not known
  TraceFollower trace(reader);
  UsageSteps steps(process);
  if (!trace.follow({&steps}) || !steps.has_the_reports_peaks()) return std::nullopt;
  const std::uint64_t boot_ns = reader.names().process.wall_ns - reader.names().process.clock_ns;
  const std::uint64_t end_ns = process.timeline.start_ns + process.timeline.duration_ns;
  const std::uint64_t last_ns = trace.begin_ns() + trace.length_ns();
  return Traced{.boot_ns = boot_ns,
                .devices = steps.finish(std::max(end_ns - std::min(boot_ns, end_ns), last_ns)),
                .peak = steps.peak()};
}

std::optional<Traced> traced(const ReportOfProcess& one) {
  std::optional<Traced> found;
  (void)use_whole_trace(one.file, one.process, [&](TraceReader& reader) {
    found = traced(reader, one.process);
    return found.has_value();
  });
  return found;
}

// Clocks are set while a host runs, but between two boots goes more than that.
bool is_one_boot(const std::vector<const Traced*>& processes) {
  constexpr std::uint64_t kSetBy = 10'000'000'000;
  const auto [first, last] =
      std::minmax_element(processes.begin(), processes.end(),
                          [](const Traced* a, const Traced* b) { return a->boot_ns < b->boot_ns; });
  return (*last)->boot_ns - (*first)->boot_ns <= kSetBy;
}

// As the traces' clock counts.
void count_since(std::uint64_t boot_ns, UsageBounds& bounds) {
  const auto shift = [&](std::uint64_t& at_ns) { at_ns -= std::min(at_ns, boot_ns); };
  for (HeldStep& step : bounds.at_most) shift(step.at_ns);
  for (HeldStep& step : bounds.at_least) shift(step.at_ns);
  for (UsageBounds::Still& still : bounds.still) {
    shift(still.since_ns);
    shift(still.end_ns);
  }
}

// Each trace is read once, whatever it says of devices, and only if somebody asks.
class Traces {
 public:
  explicit Traces(const std::vector<ReportOfProcess>& reports) : reports_(reports) {}

  // What the traces that are there tell of the sum, with the bounds of the others. Nothing: none is
  // there, or their clocks are not one.
  [[nodiscard]] std::optional<PeakBounds> bounds_of(DeviceSum& sum) {
    std::vector<const Traced*> processes;
    std::vector<const HeldSteps*> traced;
    std::vector<UsageBounds> bounded;
    for (std::size_t i = 0; i < sum.processes.size(); ++i) {
      const std::uint16_t device = sum.ordinals[i];
      const MergedProcess& process = reports_[sum.processes[i]].process;
      // The trace ends with the report. Others may hold memory later, when the process still runs.
      const bool tells_all = sum.processes.size() == 1 || is_end_known(process);
      if (std::optional<Traced>& found = of(sum.processes[i]); found && tells_all) {
        processes.push_back(&*found);
        traced.push_back(&found->devices[device]);
        continue;
      }
      if (!sum.not_whole) sum.not_whole = sum.processes[i];
      bounded.push_back(usage_bounds(process, [=](const KindFacts& kind) {
        return takes_device_memory(kind.kind) && kind.device == device;
      }));
    }
    if (traced.empty() || !is_one_boot(processes)) return std::nullopt;
    for (UsageBounds& one : bounded) count_since(processes.front()->boot_ns, one);
    return sum_bounds(bounded, traced);
  }

 private:
  std::optional<Traced>& of(std::size_t which) {
    const auto [found, is_new] = known_.try_emplace(which);
    if (is_new) found->second = traced(reports_[which]);
    return found->second;
  }

  const std::vector<ReportOfProcess>& reports_;
  std::map<std::size_t, std::optional<Traced>> known_;
};

}  // namespace

void make_peaks_exact(std::vector<ReportOfProcess>& reports) {
  for (ReportOfProcess& one : reports) {
    one.peak.reset();
    one.peak = peak_bounds(one);
    if (one.peak->lower == one.peak->upper || one.is_of_host) continue;
    if (const std::optional<Traced> found = traced(one)) {
      one.traced_peak = found->peak;
      one.peak = {.lower = found->peak, .upper = found->peak};
    }
  }
}

void refine_from_traces(std::vector<DeviceSum>& sums, const std::vector<ReportOfProcess>& reports) {
  Traces traces(reports);
  for (DeviceSum& sum : sums) {
    if (sum.lower == sum.upper || sum.host.empty()) continue;
    const std::optional<PeakBounds> bounds = traces.bounds_of(sum);
    if (!bounds) continue;
    sum.is_traced = !sum.not_whole;
    if (sum.is_traced) {
      sum.lower = sum.upper = bounds->upper;
      continue;
    }
    sum.upper = std::min(sum.upper, bounds->upper);
    sum.lower = std::min(std::max(sum.lower, bounds->lower), sum.upper);
    sum.is_partly_traced = true;
  }
}

SumOfKind sum_of_kind(const Report& report, Kind kind, std::uint16_t device) {
  const PeakBounds bounds = peak_bounds(report.processes, kind, device);
  if (bounds.lower == bounds.upper || !takes_device_memory(kind)) return {.peak = bounds};
  DeviceSum sum;
  sum.lower = bounds.lower;
  sum.upper = bounds.upper;
  sum.host = report.processes.front().process.hostname;
  std::vector<ReportOfProcess> reports;
  for (const MergedProcess& process : report.processes) {
    ReportOfProcess one{.file = report.file, .process = process, .is_merged = true};
    std::erase_if(one.process.kinds, [&](const KindFacts& held) {
      return held.kind != kind || held.device != device || held.peak_bytes == 0;
    });
    if (one.process.kinds.empty()) continue;
    if (process.process.hostname != sum.host) return {.peak = bounds};
    sum.processes.push_back(reports.size());
    sum.ordinals.push_back(device);
    reports.push_back(std::move(one));
  }
  std::vector<DeviceSum> sums{std::move(sum)};
  refine_from_traces(sums, reports);
  return {.peak = {.lower = sums[0].lower, .upper = sums[0].upper},
          .is_traced = sums[0].is_traced,
          .is_partly_traced = sums[0].is_partly_traced};
}

void add_joint_bounds(Report& report) {
  report.joint_bounds.clear();
  const std::vector<MergedProcess> processes = merged_processes(report);
  if (processes.size() != 1 || report.chosen) return;
  const MergedProcess& process = processes.front();
  std::vector<DeviceSum> sums = device_sums(processes);
  std::erase_if(sums, [&](const DeviceSum& sum) { return !has_several_kinds(process, sum.index); });
  refine_from_traces(sums, {{.file = report.file, .process = process}});
  for (const DeviceSum& sum : sums) {
    report.joint_bounds.push_back({.device = sum.index, .lower = sum.lower, .upper = sum.upper});
  }
}

}  // namespace vramscope
