// Merges what the traces of several processes say, by time.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/exact_sum.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <string>
#include <tuple>
#include <utility>

#include "allocator/ground/place.h"
#include "reporter/report/merged_process.h"
#include "reporter/report/traces/trace_input.h"
#include "reporter/report/traces/trace_memory.h"
#include "reporter/report/traces/trace_reader.h"
#include "reporter/view/text/trace_report.h"

namespace vramscope {
namespace {

// Bytes of all chosen kinds on a device, from then on.
struct Held {
  std::uint64_t at_ns = 0;  // CLOCK_MONOTONIC
  std::uint64_t bytes = 0;
};
using History = std::vector<Held>;  // by time

struct Traced {
  std::uint64_t boot_ns = 0;                 // since 1970: what one host says to all
  std::map<std::uint16_t, History> devices;  // by the ordinals of the process
  std::uint64_t peak = 0;                    // of all devices together
};

class Collector : private TraceMemory::Changes {
 public:
  explicit Collector(const MergedProcess& process) {
    for (const KindFacts& kind : process.kinds) {
      if (takes_device_memory(kind.kind))
        kinds_[{kind.kind, kind.device}] = {.told = kind.peak_bytes};
    }
  }

  // Times never go back, also where threads overlapped.
  void add(const TraceEvent& one) {
    now_ns_ = std::max(now_ns_, one.event.start_ns);
    end_ns_ = std::max(end_ns_, one.event.start_ns + one.event.total_ns);
    memory_.add(one, *this);
  }

  // What is live then goes with the process.
  [[nodiscard]] std::map<std::uint16_t, History> finish(std::uint64_t end_ns) {
    const std::uint64_t at_ns = std::max({end_ns, end_ns_, now_ns_});
    for (auto& [device, history] : devices_) history.push_back({.at_ns = at_ns, .bytes = 0});
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

  void came(const TraceBlock& block, const Event&) override { change(block.place, block.bytes); }
  // Sums are modulo 2^64, which damage alone would show.
  void went(const TraceBlock& block, TraceMemory::End) override {
    change(block.place, 0 - block.bytes);
  }
  void change(Place place, std::uint64_t bytes) {
    const auto found = kinds_.find({place.kind, place.device});
    if (found == kinds_.end() || bytes == 0) return;
    OfKind& kind = found->second;
    kind.live += bytes;
    kind.peak = std::max(kind.peak, kind.live);
    live_ += bytes;
    peak_ = std::max(peak_, live_);
    History& history = devices_[place.device];
    const std::uint64_t before = history.empty() ? 0 : history.back().bytes;
    history.push_back({.at_ns = now_ns_, .bytes = before + bytes});
  }

  std::map<std::pair<Kind, std::uint16_t>, OfKind> kinds_;
  std::map<std::uint16_t, History> devices_;
  std::uint64_t live_ = 0;  // of all devices
  std::uint64_t peak_ = 0;
  std::uint64_t now_ns_ = 0;
  std::uint64_t end_ns_ = 0;
  TraceMemory memory_;
};

std::optional<Traced> traced(TraceReader& reader, const MergedProcess& process) {
  if (!is_whole_trace_of(reader, process.process, process.trace)) return std::nullopt;
  Collector collector(process);
  const auto add = [&](const TraceEvent& event) { collector.add(event); };
  if (!reader.read(TraceReader::Order::by_change, add)) return std::nullopt;
  if (!collector.has_the_reports_peaks()) return std::nullopt;
  const std::uint64_t boot_ns = reader.names().process.wall_ns - reader.names().process.clock_ns;
  const std::uint64_t end_ns = process.timeline.start_ns + process.timeline.duration_ns;
  const std::uint64_t end_since_boot_ns = end_ns - std::min(boot_ns, end_ns);
  return Traced{
      .boot_ns = boot_ns, .devices = collector.finish(end_since_boot_ns), .peak = collector.peak()};
}

std::optional<Traced> traced(const ReportOfProcess& one) {
  if (one.process.trigger == kRecovered) return std::nullopt;
  for (const std::string& candidate : trace_files(one.file, one.process.trace)) {
    const TraceInput input(candidate);
    if (!input.problem().empty()) continue;
    TraceReader reader(input.bytes(), TraceReader::Damage::refused);
    if (std::optional<Traced> found = traced(reader, one.process)) return found;
  }
  return std::nullopt;
}

// Each process's changes stay in their order.
std::uint64_t peak_of_sum(const std::vector<const History*>& processes) {
  using Next = std::tuple<std::uint64_t, bool, std::size_t>;  // when, memory came, whose
  std::priority_queue<Next, std::vector<Next>, std::greater<>> queue;
  std::vector<std::size_t> next(processes.size());
  std::vector<std::uint64_t> now(processes.size());
  const auto push = [&](std::size_t which) {
    if (next[which] == processes[which]->size()) return;
    const Held& held = (*processes[which])[next[which]];
    queue.emplace(held.at_ns, held.bytes > now[which], which);
  };
  for (std::size_t i = 0; i < processes.size(); ++i) push(i);
  std::uint64_t sum = 0;
  std::uint64_t most = 0;
  while (!queue.empty()) {
    const std::size_t which = std::get<2>(queue.top());
    queue.pop();
    const std::uint64_t bytes = (*processes[which])[next[which]++].bytes;
    sum += bytes - std::exchange(now[which], bytes);
    most = std::max(most, sum);
    push(which);
  }
  return most;
}

// Clocks are set while a host runs, but between two boots goes more than that.
bool is_one_boot(const std::vector<const Traced*>& processes) {
  constexpr std::uint64_t kSetBy = 10'000'000'000;
  const auto [first, last] =
      std::minmax_element(processes.begin(), processes.end(),
                          [](const Traced* a, const Traced* b) { return a->boot_ns < b->boot_ns; });
  return (*last)->boot_ns - (*first)->boot_ns <= kSetBy;
}

// Each trace is read once, whatever it says of devices, and only if somebody asks.
class Traces {
 public:
  explicit Traces(const std::vector<ReportOfProcess>& reports) : reports_(reports) {}

  // Nothing: they are not all there, or their clocks are not one.
  [[nodiscard]] std::optional<std::uint64_t> peak_of(DeviceSum& sum) {
    std::vector<const Traced*> processes;
    std::vector<const History*> histories;
    for (std::size_t i = 0; i < sum.processes.size(); ++i) {
      std::optional<Traced>& found = of(sum.processes[i]);
      if (!found) {
        sum.not_whole = sum.processes[i];
        return std::nullopt;
      }
      processes.push_back(&*found);
      histories.push_back(&found->devices[sum.ordinals[i]]);
    }
    if (!is_one_boot(processes)) return std::nullopt;
    return peak_of_sum(histories);
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
    const PeakBounds bounds = peak_bounds(one);
    if (bounds.lower == bounds.upper) continue;
    if (const std::optional<Traced> found = traced(one)) one.traced_peak = found->peak;
  }
}

void make_exact(std::vector<DeviceSum>& sums, const std::vector<ReportOfProcess>& reports) {
  Traces traces(reports);
  for (DeviceSum& sum : sums) {
    if (sum.lower == sum.upper || sum.host.empty()) continue;
    const std::optional<std::uint64_t> peak = traces.peak_of(sum);
    if (!peak) continue;
    sum.lower = sum.upper = *peak;
    sum.is_traced = true;
  }
}

void add_joint_bounds(Report& report) {
  report.joint_bounds.clear();
  const std::vector<MergedProcess> processes = merged_processes(report);
  if (processes.size() != 1 || report.chosen) return;
  const MergedProcess& process = processes.front();
  std::vector<DeviceSum> sums = device_sums(processes);
  std::erase_if(sums, [&](const DeviceSum& sum) { return !has_several_kinds(process, sum.index); });
  make_exact(sums, {{.file = report.file, .process = process}});
  for (const DeviceSum& sum : sums) {
    report.joint_bounds.push_back({.device = sum.index, .lower = sum.lower, .upper = sum.upper});
  }
}

}  // namespace vramscope
