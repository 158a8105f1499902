// Merges what the traces of several processes say, by time.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/peaks/traced_peaks.h"

#include <algorithm>
#include <array>
#include <atomic>
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
#include "reporter/view/analysis/replay/several_traces.h"
#include "reporter/view/analysis/replay/trace_follower.h"
#include "reporter/view/analysis/replay/trace_report.h"

namespace vramscope {
namespace {

struct Traced {
  std::uint64_t boot_ns = 0;                   // since 1970: what one host says to all
  std::map<std::uint16_t, HeldSteps> devices;  // all chosen kinds on each, by CLOCK_MONOTONIC
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
    HeldSteps& history = devices_[place.device];
    const std::uint64_t before = history.empty() ? 0 : history.back().bytes;
    history.push_back({.at_ns = clock_ns, .bytes = before + bytes});
  }

  DeviceNumbers numbers_;  // in the report, by the process's own
  std::map<std::pair<Kind, std::uint16_t>, OfKind> kinds_;
  std::map<std::uint16_t, HeldSteps> devices_;
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
                .devices = steps.finish(std::max(end_ns - std::min(boot_ns, end_ns), last_ns))};
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
  Traces(const std::vector<ReportOfProcess>& reports, const TellShare& tell)
      : reports_(reports), tell_(tell) {}

  // What the traces that are there tell of the sum, with the bounds of the others. Nothing: none is
  // there, or their clocks are not one.
  [[nodiscard]] std::optional<PeakBounds> bounds_of(DeviceSum& sum) {
    if (const std::optional<std::uint64_t> peak = peak_of_one(sum))
      return PeakBounds{.lower = *peak, .upper = *peak};
    read(sum.processes);
    std::vector<const Traced*> processes;
    std::vector<const HeldSteps*> traced;
    std::vector<UsageBounds> bounded;
    for (std::size_t i = 0; i < sum.processes.size(); ++i) {
      const std::uint16_t device = sum.ordinals[i];
      const MergedProcess& process = reports_[sum.processes[i]].process;
      // The trace ends with the report. Others may hold memory later, when the process still runs.
      const bool tells_all = sum.processes.size() == 1 || is_end_known(process);
      if (std::optional<Traced>& found = known_[sum.processes[i]]; found && tells_all) {
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

  // Keeps what the others need, from `next` on.
  void forget_before(const std::vector<DeviceSum>& sums, std::size_t next) {
    std::erase_if(known_, [&](const auto& known) {
      return std::none_of(
          sums.begin() + static_cast<std::ptrdiff_t>(next), sums.end(), [&](const DeviceSum& sum) {
            return std::ranges::find(sum.processes, known.first) != sum.processes.end();
          });
    });
  }

 private:
  // Where exact_peaks.h found it already.
  [[nodiscard]] std::optional<std::uint64_t> peak_of_one(const DeviceSum& sum) const {
    if (sum.processes.size() != 1) return std::nullopt;
    const std::optional<TracedPeak>& peak = reports_[sum.processes.front()].traced_peak;
    if (!peak) return std::nullopt;
    const auto found = peak->devices.find(sum.ordinals.front());
    return found == peak->devices.end() ? 0 : found->second;
  }
  void read(const std::vector<std::size_t>& processes) {
    std::vector<std::pair<std::size_t, std::optional<Traced>*>> unread;
    std::uint64_t events = 0;
    for (const std::size_t which : processes) {
      const auto [found, is_new] = known_.try_emplace(which);
      if (!is_new) continue;
      unread.emplace_back(which, &found->second);
      events += reports_[which].process.trace.events;
    }
    const auto read_one = [&](std::size_t i, std::atomic<std::uint64_t>& followed) {
      const ReportOfProcess& one = reports_[unread[i].first];
      *unread[i].second = traced(one);
      followed += one.process.trace.events;
    };
    follow_several(unread.size(), read_one, events, tell_);
  }

  const std::vector<ReportOfProcess>& reports_;
  const TellShare& tell_;
  std::map<std::size_t, std::optional<Traced>> known_;
};

}  // namespace

void refine_from_traces(std::vector<DeviceSum>& sums, const std::vector<ReportOfProcess>& reports,
                        const TellShare& tell) {
  Traces traces(reports, tell);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    traces.forget_before(sums, i);
    DeviceSum& sum = sums[i];
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
