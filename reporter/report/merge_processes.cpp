// Combines what all processes have in common, and adds up what coincided.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/merge_processes.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "reporter/report/gpus.h"
#include "reporter/report/ledger_row.h"
#include "reporter/report/merge_numbers.h"
#include "reporter/report/merged_process.h"
#include "reporter/report/site_list.h"

namespace vramscope {
namespace {

constexpr std::size_t kBuckets = 256;                           // as in a process's own timeline
constexpr std::uint64_t kLeastBucket = std::uint64_t{1} << 20;  // likewise: 1 ms
constexpr std::size_t kEventsKept = 17;                         // likewise: the first 16 and one

using Memory = std::pair<Kind, std::uint16_t>;

void keep_common_options(ProcessFacts& sum, const ProcessFacts& more) {
  std::erase_if(sum.options, [&](const auto& option) {
    return std::find(more.options.begin(), more.options.end(), option) == more.options.end();
  });
}

void add(ProcessFacts& sum, const ProcessFacts& more) {
  keep_common(sum.hostname, more.hostname);
  keep_common(sum.executable, more.executable);
  keep_common(sum.arguments, more.arguments);
  keep_common(sum.mode, more.mode);
  keep_common(sum.job, more.job);
  keep_common(sum.launcher, more.launcher);
  if (sum.world_size != more.world_size) sum.world_size = -1;
  keep_common(sum.cuda_driver_version, more.cuda_driver_version);
  keep_common(sum.ended_by, more.ended_by);
  keep_common_options(sum, more);
  sum.start_time_ns = std::min(sum.start_time_ns, more.start_time_ns);
  sum.report_time_ns = std::max(sum.report_time_ns, more.report_time_ns);
  sum.simulated = sum.simulated && more.simulated;
  sum.simulated_launches += more.simulated_launches;
}

// Sets the time of the first call of any process, and the duration until the last report.
void set_times(Report& report) {
  TimelineFacts& timeline = report.timeline;
  std::uint64_t end = 0;
  for (const MergedProcess& one : report.processes) {
    if (one.timeline.start_ns == 0) continue;
    const std::uint64_t start = one.timeline.start_ns;
    timeline.start_ns = timeline.start_ns == 0 ? start : std::min(timeline.start_ns, start);
    end = std::max(end, start + one.timeline.duration_ns);
  }
  timeline.duration_ns = end - std::min(end, timeline.start_ns);
}

// Adds the highest value of each overlapping bucket, so the sum is an upper bound.
void add_series(TimelineSeries& sum, const TimelineSeries& more, std::uint64_t offset_ns,
                std::uint64_t duration_ns) {
  if (more.bucket_ns == 0 || more.highest.empty() || more.last.size() != more.highest.size())
    return;
  const std::uint64_t end_ns = offset_ns + duration_ns;
  for (std::size_t i = offset_ns / sum.bucket_ns; i < sum.highest.size(); ++i) {
    const std::uint64_t from = std::max(i * sum.bucket_ns, offset_ns);
    const std::uint64_t to = std::min((i + 1) * sum.bucket_ns, end_ns);
    if (from >= std::max(to, offset_ns + 1)) break;
    const std::size_t last = (std::max(to, from + 1) - 1 - offset_ns) / more.bucket_ns;
    std::uint64_t highest = 0;
    for (std::size_t b = (from - offset_ns) / more.bucket_ns; b <= last; ++b) {
      highest = std::max(highest, b < more.highest.size() ? more.highest[b] : more.last.back());
      if (b >= more.highest.size()) break;
    }
    sum.highest[i] += highest;
    const bool goes_on = end_ns > (i + 1) * sum.bucket_ns;
    if (goes_on) sum.last[i] += more.last[std::min(last, more.last.size() - 1)];
  }
}

// Sums of what each process's report says in full. Processes are added in their order, after
// set_times().
class ProcessSums {
 public:
  explicit ProcessSums(Report& report) : report_(report) {
    while (bucket_ns_ * kBuckets < report.timeline.duration_ns) bucket_ns_ *= 2;
    buckets_ = std::min<std::size_t>(kBuckets, report.timeline.duration_ns / bucket_ns_ + 1);
  }

  void add(const MergedProcess& one) {
    later_ns_ = one.timeline.start_ns - report_.timeline.start_ns;
    if (is_first_) {
      report_.process = one.process;
      report_.trace = one.trace;
    } else {
      vramscope::add(report_.process, one.process);
      add(one.trace);
    }
    is_first_ = false;
    add_series(one);
    add_kinds(one);
    add_oom(one.oom);
  }

  void finish() {
    ProcessFacts& process = report_.process;
    process.pid = process.ppid = 0;
    process.rank = process.local_rank = process.restart = -1;
    for (auto& [memory, series] : series_) report_.timeline.series.push_back(std::move(series));
    for (auto& [memory, kind] : kinds_) report_.kinds.push_back(std::move(kind));
    keep_first(report_.oom.events);
  }

 private:
  void add_series(const MergedProcess& one) {
    for (const TimelineSeries& series : one.timeline.series) {
      TimelineSeries& sum = series_[{series.kind, series.device}];
      sum.kind = series.kind;
      sum.device = series.device;
      sum.bucket_ns = bucket_ns_;
      sum.highest.resize(buckets_);
      sum.last.resize(buckets_);
      const bool goes_on = !is_end_known(one);
      const std::uint64_t duration_ns =
          goes_on ? report_.timeline.duration_ns + bucket_ns_ : one.timeline.duration_ns;
      vramscope::add_series(sum, series, later_ns_, duration_ns);
    }
  }

  // Adds the peaks. The cause is taken from the highest one.
  void add_kinds(const MergedProcess& one) {
    for (const KindFacts& kind : one.kinds) {
      const Memory memory{kind.kind, kind.device};
      const auto [known, is_first] = kinds_.try_emplace(memory);
      KindFacts& sum = known->second;
      if (is_first || kind.peak_bytes > highest_[memory]) {
        highest_[memory] = kind.peak_bytes;
        const KindFacts numbers = sum;
        sum = kind;
        sum.peak_ns += later_ns_;
        sum.current_bytes = numbers.current_bytes;
        sum.peak_bytes = numbers.peak_bytes;
        sum.allocations = numbers.allocations;
        sum.frees = numbers.frees;
      }
      sum.current_bytes += kind.current_bytes;
      sum.peak_bytes += kind.peak_bytes;
      sum.allocations += kind.allocations;
      sum.frees += kind.frees;
    }
  }

  void add(const TraceReport& more) {
    TraceReport& sum = report_.trace;
    keep_common(sum.path, more.path);
    keep_common(sum.problem, more.problem);
    sum.events += more.events;
    sum.bytes += more.bytes;
    sum.lost += more.lost;
  }

  void add_oom(const OomReport& more) {
    report_.oom.count += more.count;
    for (OomEvent event : more.events) {
      event.time_ns += later_ns_;
      if (event.served_ns >= 0) event.served_ns += static_cast<std::int64_t>(later_ns_);
      report_.oom.events.push_back(std::move(event));
    }
    if (report_.oom.events.size() > kEventsKept) keep_first(report_.oom.events);
  }
  static void keep_first(std::vector<OomEvent>& events) {
    std::stable_sort(events.begin(), events.end(),
                     [](const OomEvent& a, const OomEvent& b) { return a.time_ns < b.time_ns; });
    if (events.size() > kEventsKept) events.resize(kEventsKept);
  }

  Report& report_;
  std::uint64_t bucket_ns_ = kLeastBucket;
  std::size_t buckets_ = 0;
  std::uint64_t later_ns_ = 0;  // how much later than time 0 the process being added began
  bool is_first_ = true;
  std::map<Memory, TimelineSeries> series_;
  std::map<Memory, KindFacts> kinds_;
  std::map<Memory, std::uint64_t> highest_;
};

// Counts a device that several processes used once.
void set_sizes(Report& report, const Gpus& gpus) {
  for (DeviceReport& device : report.devices) {
    std::map<const Gpu*, std::uint64_t> sizes;
    for (const MergedProcess& one : report.processes) {
      for (const ProcessDevice& had : one.devices) {
        if (had.index != device.facts.index) continue;
        std::uint64_t& size = sizes[&gpus.of(one, had)];
        size = std::max(size, had.total_bytes);
      }
    }
    device.facts.total_bytes = 0;
    for (const auto& [gpu, size] : sizes) device.facts.total_bytes += size;
    device.facts.free_bytes = 0;
    device.facts.free_bytes_age_ns = 0;
    device.facts.other_processes.clear();
  }
}

// Returns an upper bound of what processes outside of the report use. Each process saw at least
// that outside of itself, so the bound is the least of these values. Each device counts once.
std::uint64_t others_on(const Report& report, const Gpus& gpus, std::uint16_t index) {
  std::map<const Gpu*, std::uint64_t> least;
  for (const MergedProcess& one : report.processes) {
    for (const ProcessDevice& had : one.devices) {
      if (had.index != index || had.others_bytes < 0) continue;
      const auto bytes = static_cast<std::uint64_t>(had.others_bytes);
      const auto [known, is_first] = least.try_emplace(&gpus.of(one, had), bytes);
      known->second = std::min(known->second, bytes);
    }
  }
  std::uint64_t sum = 0;
  for (const auto& [gpu, bytes] : least) sum += bytes;
  return sum;
}

void set_others(Report& report, const Gpus& gpus) {
  for (DeviceReport& device : report.devices) {
    const std::uint64_t bytes = others_on(report, gpus, device.facts.index);
    if (bytes == 0) continue;
    device.facts.outside_bytes += bytes;
    const auto [kind, owner] = words_of(LedgerRow::others);
    LedgerEntry entry{.device = device.facts.index, .kind = kind, .owner = owner};
    entry.current_bytes = entry.peak_bytes = entry.device_bytes = bytes;
    report.ledger.push_back(std::move(entry));
  }
  std::stable_sort(
      report.ledger.begin(), report.ledger.end(), [](const LedgerEntry& a, const LedgerEntry& b) {
        return std::tie(a.device, a.kind, a.owner) < std::tie(b.device, b.kind, b.owner);
      });
}

auto order_of(const KindFacts& kind) {
  return std::tuple(kind.kind, kind.device, kind.peak_bytes, kind.current_bytes, kind.peak_ns,
                    kind.allocations, kind.frees, kind.peak_site);
}
auto order_of(const TimelineSeries& series) {
  return std::tie(series.kind, series.device, series.bucket_ns, series.highest, series.last);
}

template <class Row>
bool differ(const std::vector<Row>& a, const std::vector<Row>& b, bool& is_before) {
  const auto less = [](const Row& x, const Row& y) { return order_of(x) < order_of(y); };
  is_before = std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(), less);
  return is_before || std::lexicographical_compare(b.begin(), b.end(), a.begin(), a.end(), less);
}

auto order_of(const MergedProcess& one) {
  const ProcessFacts& process = one.process;
  return std::tie(process.hostname, process.rank, process.pid, process.start_time_ns, one.sequence,
                  process.report_time_ns, process.executable, process.arguments, process.ppid,
                  process.mode, process.options, process.ended_by, process.local_rank,
                  process.world_size, process.restart, process.job, process.launcher, one.trigger,
                  one.timeline.start_ns, one.timeline.duration_ns, one.trace.path, one.trace.events,
                  one.trace.bytes, one.oom.count);
}

}  // namespace

bool comes_before(const MergedProcess& a, const MergedProcess& b) {
  if (order_of(a) != order_of(b)) return order_of(a) < order_of(b);
  bool is_before = false;
  if (differ(a.kinds, b.kinds, is_before)) return is_before;
  return differ(a.timeline.series, b.timeline.series, is_before) && is_before;
}

void set_by_processes(Report& report, const ProcessList& processes) {
  set_times(report);
  ProcessSums sums(report);
  for (std::size_t i = 0; i < processes.size(); ++i) sums.add(processes.at(i));
  sums.finish();
  const Gpus gpus(report.processes);
  set_sizes(report, gpus);
  set_others(report, gpus);
}

}  // namespace vramscope
