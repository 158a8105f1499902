// Adds the timelines of processes, which have buckets of different beginnings and widths.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/device_sum.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "allocator/ground/place.h"
#include "reporter/report/merged_process.h"
#include "reporter/report/report.h"
#include "reporter/view/text/format.h"

namespace vramscope {
namespace {

using Instant = std::uint64_t;  // nanoseconds since 1970

// What is known of the bytes of one kind in one process: at some instants exactly, between two of
// them only what they were at most.
struct Known {
  std::vector<std::pair<Instant, std::uint64_t>> at_most;  // from then on
  std::vector<std::pair<Instant, std::uint64_t>> exactly;  // then
  Instant still_since = 0;                                 // nothing changed any more
  Instant end = 0;                                         // nothing is known any more
  std::uint64_t still = 0;
};

Known known_of(const MergedProcess& process, const TimelineSeries& series, const KindFacts& kind) {
  const Instant start = process.timeline.start_ns;
  Known known;
  for (std::size_t i = 0; i < series.highest.size(); ++i) {
    known.at_most.emplace_back(start + i * series.bucket_ns, series.highest[i]);
  }
  for (std::size_t i = 0; i + 1 < series.last.size(); ++i) {
    known.exactly.emplace_back(start + (i + 1) * series.bucket_ns, series.last[i]);
  }
  known.exactly.emplace_back(start + kind.peak_ns, kind.peak_bytes);
  known.still = series.last.empty() ? 0 : series.last.back();
  known.still_since = start + series.last.size() * series.bucket_ns;
  const Instant end = start + process.timeline.duration_ns;
  // Nobody notes the end of one that was killed at once.
  const Instant seen = process.trigger == kRecovered ? process.process.report_time_ns : end;
  known.end = std::max(std::min(end, seen), known.still_since);
  known.at_most.emplace_back(known.still_since, known.still);
  if (is_end_known(process)) known.at_most.emplace_back(std::max(end, known.still_since), 0);
  return known;
}

std::uint64_t upper_bound(const std::vector<Known>& all) {
  std::vector<std::tuple<Instant, std::size_t, std::uint64_t>> changes;
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (const auto& [at, bytes] : all[i].at_most) changes.emplace_back(at, i, bytes);
  }
  std::stable_sort(changes.begin(), changes.end(),
                   [](const auto& a, const auto& b) { return std::get<0>(a) < std::get<0>(b); });
  std::vector<std::uint64_t> now(all.size());
  std::uint64_t sum = 0;
  std::uint64_t most = 0;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const auto& [at, which, bytes] = changes[i];
    sum += bytes - std::exchange(now[which], bytes);
    const bool is_last_then = i + 1 == changes.size() || std::get<0>(changes[i + 1]) != at;
    if (is_last_then) most = std::max(most, sum);
  }
  return most;
}

// At an instant at which one is known exactly the others count if they are known then, too.
std::uint64_t lower_bound(const std::vector<Known>& all) {
  std::map<Instant, std::uint64_t> exactly;
  std::map<Instant, std::int64_t> still;  // changes of what is known to stay
  for (const Known& one : all) {
    std::map<Instant, std::uint64_t> own;  // the peak may be at the end of a bucket
    for (const auto& [at, bytes] : one.exactly) own[at] = std::max(own[at], bytes);
    for (const auto& [at, bytes] : own) {
      if (at < one.still_since) exactly[at] += bytes;
    }
    still[one.still_since] += static_cast<std::int64_t>(one.still);
    still[one.end] -= static_cast<std::int64_t>(one.still);
    exactly.try_emplace(one.still_since, 0);
  }
  std::uint64_t most = 0;
  std::int64_t staying = 0;
  auto next = still.begin();
  for (const auto& [at, bytes] : exactly) {
    for (; next != still.end() && next->first <= at; ++next) staying += next->second;
    most = std::max(most, bytes + static_cast<std::uint64_t>(staying));
  }
  return most;
}

const TimelineSeries* series_of(const MergedProcess& process, const KindFacts& kind) {
  for (const TimelineSeries& series : process.timeline.series) {
    if (series.kind == kind.kind && series.device == kind.device && series.bucket_ns != 0) {
      return &series;
    }
  }
  return nullptr;
}

bool is_on(const KindFacts& kind, const ProcessDevice& device) {
  return takes_device_memory(kind.kind) && kind.device == device.index && kind.peak_bytes != 0;
}

struct Parts {
  DeviceSum sum;
  std::vector<Known> known;
  std::uint64_t without_timeline = 0;
  std::uint64_t highest_peak = 0;
  std::size_t memories = 0;                      // devices, once for each process
  std::optional<std::uint64_t> joint_peak = {};  // of the last of them that tells it
};

void add(Parts& parts, const MergedProcess& process, const KindFacts& kind) {
  parts.sum.sum_of_peaks += kind.peak_bytes;
  parts.highest_peak = std::max(parts.highest_peak, kind.peak_bytes);
  const TimelineSeries* const series = series_of(process, kind);
  if (series == nullptr) {
    parts.without_timeline += kind.peak_bytes;
  } else {
    parts.known.push_back(known_of(process, *series, kind));
  }
}

PeakBounds bounds_of(const Parts& parts) {
  PeakBounds bounds;
  bounds.upper =
      std::min(parts.sum.sum_of_peaks, upper_bound(parts.known) + parts.without_timeline);
  bounds.lower = std::max(parts.highest_peak, lower_bound(parts.known));
  if (parts.memories == 1 && parts.joint_peak) bounds.upper = *parts.joint_peak;
  bounds.lower = std::min(bounds.lower, bounds.upper);
  return bounds;
}

// What the process itself tells of all its kinds of memory there, if it had several.
void add_memory(Parts& parts, const MergedProcess& process, std::uint16_t device) {
  ++parts.memories;
  for (const JointPeak& joint : process.joint_peaks) {
    if (joint.facts.device != device) continue;
    parts.joint_peak = joint.facts.peak_bytes;
    parts.highest_peak = std::max(parts.highest_peak, joint.facts.peak_bytes);
  }
}

void add(Parts& parts, const MergedProcess& process, std::size_t number,
         const ProcessDevice& device) {
  bool holds = false;
  for (const KindFacts& kind : process.kinds) {
    if (!is_on(kind, device)) continue;
    holds = true;
    add(parts, process, kind);
  }
  if (!holds) return;
  add_memory(parts, process, device.index);
  if (parts.sum.processes.empty()) {
    parts.sum.host = process.process.hostname;
    parts.sum.name = device.name;
    parts.sum.uuid = device.uuid;
    parts.sum.index = device.index;
  } else if (parts.sum.host != process.process.hostname) {
    parts.sum.host.clear();
  }
  parts.sum.processes.push_back(number);
  parts.sum.ordinals.push_back(device.index);
}

std::uint64_t total(const MergedProcess& process, std::uint64_t KindFacts::*number, bool of_all) {
  std::uint64_t sum = 0;
  for (const KindFacts& kind : process.kinds) {
    if (of_all ? holds_memory(kind.kind) : takes_device_memory(kind.kind)) sum += kind.*number;
  }
  return sum;
}

}  // namespace

std::vector<DeviceSum> device_sums(const std::vector<MergedProcess>& processes) {
  std::map<DeviceIdentity, Parts> devices;
  for (std::size_t i = 0; i < processes.size(); ++i) {
    for (const ProcessDevice& device : processes[i].devices) {
      add(devices[identity_of(processes[i], device)], processes[i], i, device);
    }
  }
  std::vector<DeviceSum> sums;
  for (auto& [identity, parts] : devices) {
    if (parts.sum.processes.empty()) continue;
    const PeakBounds bounds = bounds_of(parts);
    parts.sum.lower = bounds.lower;
    parts.sum.upper = bounds.upper;
    sums.push_back(std::move(parts.sum));
  }
  std::stable_sort(sums.begin(), sums.end(), [](const DeviceSum& a, const DeviceSum& b) {
    return std::tie(a.host, a.index) < std::tie(b.host, b.index);
  });
  return sums;
}

PeakBounds peak_bounds(const MergedProcess& process) {
  Parts parts;
  std::set<std::uint16_t> devices;
  for (const KindFacts& kind : process.kinds) {
    if (!takes_device_memory(kind.kind) || kind.peak_bytes == 0) continue;
    add(parts, process, kind);
    devices.insert(kind.device);
  }
  for (const std::uint16_t device : devices) add_memory(parts, process, device);
  return bounds_of(parts);
}
PeakBounds peak_bounds(const MergedProcess& process, std::uint16_t device) {
  Parts parts;
  for (const KindFacts& kind : process.kinds) {
    const bool counts = takes_device_memory(kind.kind) && kind.peak_bytes != 0;
    if (counts && kind.device == device) add(parts, process, kind);
  }
  add_memory(parts, process, device);
  return bounds_of(parts);
}
PeakBounds peak_bounds(const std::vector<MergedProcess>& processes, Kind kind,
                       std::uint16_t device) {
  Parts parts;
  for (const MergedProcess& process : processes) {
    for (const KindFacts& held : process.kinds) {
      if (held.kind == kind && held.device == device) add(parts, process, held);
    }
  }
  return bounds_of(parts);
}
std::uint64_t peak_of(const MergedProcess& process) { return peak_bounds(process).upper; }

bool has_several_kinds(const MergedProcess& process, std::uint16_t device) {
  return std::count_if(process.kinds.begin(), process.kinds.end(), [&](const KindFacts& kind) {
           return takes_device_memory(kind.kind) && kind.device == device && kind.peak_bytes != 0;
         }) > 1;
}

std::string bounds_text(const PeakBounds& bounds) {
  if (bounds.lower == bounds.upper) return amount_text(bounds.upper);
  if (bounds.lower < bounds.upper / 2) return "at most " + amount_text(bounds.upper);
  return amount_text(bounds.lower) + " to " + amount_text(bounds.upper);
}

std::uint64_t current_of(const MergedProcess& process) {
  return total(process, &KindFacts::current_bytes, /*of_all=*/false);
}
std::uint64_t allocations_of(const MergedProcess& process) {
  return total(process, &KindFacts::allocations, /*of_all=*/true);
}

}  // namespace vramscope
