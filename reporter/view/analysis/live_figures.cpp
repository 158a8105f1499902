// Adds up what was read of a running program.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/live_figures.h"

#include <algorithm>
#include <utility>

#include "reporter/report/ledger_row.h"
#include "reporter/report/report.h"
#include "reporter/view/analysis/running_program.h"

namespace vramscope {
namespace {

std::uint64_t not_negative(std::int64_t number) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(number, 0));
}

void add_kinds(const Report& report, LiveGpu& device) {
  const std::uint16_t index = device.report->facts.index;
  for (const KindFacts& kind : report.kinds) {
    if (takes_device_memory(kind.kind) && kind.device == index)
      device.live_bytes += kind.current_bytes;
  }
  const auto peaks = requested_peaks(report);
  const auto its = peaks.find(index);
  device.peak_bytes = its == peaks.end() ? 0 : its->second;
}

// What no call asked for.
void add_rest(const Report& report, LiveGpu& device) {
  const DeviceStatistics& counted = device.report->statistics;
  const std::uint64_t reserved = not_negative(counted.reserved_bytes.all.current);
  device.cached_bytes =
      reserved - std::min(not_negative(counted.requested_bytes.all.current), reserved);
  for (const LedgerEntry& entry : report.ledger) {
    if (entry.device != device.report->facts.index) continue;
    const LedgerRow row = row_of(entry);
    if (row == LedgerRow::others) device.others_bytes += entry.device_bytes;
    const bool is_drivers = row == LedgerRow::contexts || row == LedgerRow::modules ||
                            row == LedgerRow::exported || row == LedgerRow::pools;
    if (row == LedgerRow::before) device.before_bytes += entry.device_bytes;
    if (is_drivers) device.driver_bytes += entry.device_bytes;
  }
}

// A call stack by what its frames are, since their numbers differ between readings.
std::string name_of_stack(const Report& report, const Site& site) {
  std::string name;
  for (const std::uint32_t index : site.frames) {
    const FrameFact& frame = report.frames[index];
    if (frame.code < report.codes.size()) {
      const CodeFact& code = report.codes[frame.code];
      name += report.sources[code.source].path + ":" + code.name + ":" +
              std::to_string(frame.line) + ";";
    } else {
      const bool is_known = frame.module < report.modules.size();
      name += (is_known ? report.modules[frame.module].path : "") + "+" +
              std::to_string(frame.offset) + ";";
    }
  }
  return site.is_left_out ? "left out" : name;
}

std::vector<LiveRow> rows_of_sites(const Report& report) {
  std::vector<LiveRow> rows;
  for (std::size_t i = 0; i < report.sites.size(); ++i) {
    const Site& site = report.sites[i];
    const std::string name = name_of_stack(report, site);
    for (const SitePart& part : site.parts) {
      rows.push_back({.key = {name, part.kind, part.device},
                      .site = static_cast<std::int64_t>(i),
                      .live_bytes = part.totals.live_bytes,
                      .live_count = part.totals.live_count,
                      .total_count = part.totals.total_count});
    }
  }
  return rows;
}

std::vector<LiveRow> rows_of_axis(const Report& report, Axis axis) {
  std::vector<LiveRow> rows;
  for (const AxisEntry& entry : report.axes) {
    if (entry.axis != axis) continue;
    rows.push_back({.key = {entry.value, entry.kind, entry.device},
                    .value = entry.value,
                    .live_bytes = entry.totals.live_bytes,
                    .live_count = entry.totals.live_count,
                    .total_count = entry.totals.total_count});
  }
  return rows;
}

std::vector<LiveRow> rows_of(const Report& report, LiveGroup group) {
  switch (group) {
    case LiveGroup::sites:
      return rows_of_sites(report);
    case LiveGroup::owners:
      return rows_of_axis(report, Axis::owner);
    case LiveGroup::ranges:
      return rows_of_axis(report, Axis::range);
    case LiveGroup::threads:
      break;
  }
  return rows_of_axis(report, Axis::thread);
}

// What changed while the rows were read is in their kinds alone.
void add_changing(const Report& report, std::vector<LiveRow>& rows) {
  for (const KindFacts& kind : report.kinds) {
    std::uint64_t held = 0;
    for (const LiveRow& row : rows) {
      if (row.kind() == kind.kind && row.device() == kind.device) held += row.live_bytes;
    }
    if (held >= kind.current_bytes) continue;
    rows.push_back({.key = {"changing", kind.kind, kind.device},
                    .is_changing = true,
                    .live_bytes = kind.current_bytes - held});
  }
}

}  // namespace

std::vector<LiveGpu> live_gpus(const Report& report) {
  std::vector<LiveGpu> devices;
  for (const DeviceReport& one : report.devices) {
    LiveGpu device{.report = &one, .total_bytes = one.facts.total_bytes};
    add_kinds(report, device);
    add_rest(report, device);
    devices.push_back(device);
  }
  return devices;
}

void LiveMark::set(const Report& report, std::uint64_t time_ns) {
  time_ns_ = time_ns;
  bytes_.clear();
  for (std::size_t i = 0; i < kLiveGroupNames.size(); ++i) {
    const auto group = static_cast<LiveGroup>(i);
    for (LiveRow& row : live_rows(report, group, {})) {
      bytes_[{group, std::move(row.key)}] = row.live_bytes;
    }
  }
}

std::optional<std::uint64_t> LiveMark::bytes_of(LiveGroup group, const LiveRow::Key& key) const {
  if (!is_set()) return std::nullopt;
  const auto found = bytes_.find({group, key});
  return found == bytes_.end() ? 0 : found->second;
}

std::vector<LiveRow> live_rows(const Report& report, LiveGroup group, const LiveMark& mark) {
  std::vector<LiveRow> rows = rows_of(report, group);
  add_changing(report, rows);
  for (LiveRow& row : rows) {
    if (const auto before = mark.bytes_of(group, row.key)) {
      row.grown_bytes =
          static_cast<std::int64_t>(row.live_bytes) - static_cast<std::int64_t>(*before);
    }
  }
  std::erase_if(rows, [](const LiveRow& row) {
    return row.live_bytes == 0 && row.live_count == 0 && row.grown_bytes.value_or(0) == 0;
  });
  std::ranges::stable_sort(rows, [](const LiveRow& a, const LiveRow& b) {
    return std::tie(a.live_bytes, b.key) > std::tie(b.live_bytes, a.key);
  });
  return rows;
}

void LiveHistory::add(const Report& report) {
  const std::uint64_t now_ns = report.process.report_time_ns;
  if (!samples_.empty() && now_ns <= samples_.back().time_ns) return;
  samples_.push_back({.time_ns = now_ns, .live_bytes = device_live(report)});
  while (samples_.front().time_ns + kLongestNs < now_ns) samples_.pop_front();
}

std::uint64_t LiveHistory::length_ns() const {
  return samples_.empty() ? 0 : samples_.back().time_ns - samples_.front().time_ns;
}

std::vector<std::uint64_t> LiveHistory::columns(std::size_t count, std::uint64_t length_ns) const {
  std::vector<std::uint64_t> highest(count);
  if (samples_.empty() || count == 0 || length_ns == 0) return highest;
  std::vector<bool> is_read(count);
  const std::uint64_t end = samples_.back().time_ns;
  for (const LiveSample& sample : samples_) {
    const std::uint64_t back = end - sample.time_ns;
    if (back > length_ns) continue;
    const auto from_end =
        static_cast<std::size_t>(static_cast<double>(back) / static_cast<double>(length_ns) *
                                 static_cast<double>(count - 1));
    const std::size_t column = count - 1 - from_end;
    highest[column] = std::max(highest[column], sample.live_bytes);
    is_read[column] = true;
  }
  for (std::size_t i = 1; i < count; ++i) {
    if (!is_read[i]) highest[i] = highest[i - 1];
  }
  return highest;
}

}  // namespace vramscope
