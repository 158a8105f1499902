// Attributes by axis and by kind what was counted by tag.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/attribution.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "allocator/base/driver_pages.h"
#include "reporter/base/range_path.h"
#include "reporter/report/fields.h"
#include "reporter/report/ledger_row.h"
#include "reporter/report/shared_pages.h"

namespace vramscope {

namespace {

std::string stream_text(const std::vector<StreamFact>& streams, std::uint32_t value) {
  constexpr std::uint64_t kPerThread = 2;  // CU_STREAM_PER_THREAD
  const StreamFact& stream = streams[value];
  const std::string number = stream.handle == 0            ? "default"
                             : stream.handle == kPerThread ? "default of the thread"
                                                           : "stream " + std::to_string(value);
  return stream.name.empty() ? number : stream.name + " (" + number + ")";
}

}  // namespace

std::string thread_text(const ThreadFact& thread) {
  return thread.name.empty() ? std::to_string(thread.id)
                             : thread.name + " " + std::to_string(thread.id);
}

std::string value_text(const ReportParts& parts, Axis axis, std::uint32_t value) {
  const RecorderFacts& facts = parts.recorder;
  if (value == kOtherValue) return "others";
  switch (axis) {
    case Axis::owner:
      if (value < facts.owners.size()) return facts.owners[value];
      break;
    case Axis::thread:
      if (value != 0 && value < facts.threads.size()) return thread_text(facts.threads[value]);
      break;
    case Axis::stream:
      if (value == 0) return "none";
      if (value < facts.streams.size()) return stream_text(facts.streams, value);
      break;
    case Axis::range:
      if (value == 0) return "none";
      if (value < facts.ranges.size()) return range_path(facts.ranges, value);
      break;
    case Axis::function:
      if (value < parts.function_names.size()) return parts.function_names[value];
      break;
    case Axis::size_class:
      if (value != 0 && value <= 64) return std::to_string(std::uint64_t{1} << (value - 1));
      break;
  }
  return "unknown";
}

std::string value_of_tag(const ReportParts& parts, Axis axis, Tag tag) {
  const auto& tags = parts.recorder.tags;
  if (tag == 0 || tag >= tags.size()) return "unknown";
  return value_text(parts, axis, tags[tag].values[static_cast<std::size_t>(axis)]);
}

namespace {

void add(AxisEntry& sum, const TagTotals& tag, const TagFact& fact) {
  sum.totals.live_bytes += tag.live_bytes;
  sum.totals.live_count += tag.live_count;
  sum.totals.peak_bytes += tag.peak_bytes;
  sum.totals.peak_count += tag.peak_count;
  sum.totals.total_bytes += tag.total_bytes;
  sum.totals.total_count += tag.total_count;
  sum.totals.total_ns += fact.total_ns;
}

}  // namespace

void sort_axes(std::vector<AxisEntry>& axes) {
  std::stable_sort(axes.begin(), axes.end(), [](const AxisEntry& a, const AxisEntry& b) {
    return std::tie(a.axis, a.device, a.kind, b.totals.peak_bytes, b.totals.total_bytes, a.value) <
           std::tie(b.axis, b.device, b.kind, a.totals.peak_bytes, a.totals.total_bytes, b.value);
  });
}

std::vector<AxisEntry> make_axes(const ReportParts& parts) {
  const Snapshot& memory = parts.memory;
  using Key = std::tuple<std::size_t, std::uint16_t, Kind, std::uint32_t>;
  std::map<Key, AxisEntry> entries;
  // If every request of a tag failed, the allocator may not know the tag, but the time counts.
  for (std::size_t tag = 1; tag < parts.recorder.tags.size(); ++tag) {
    const TagTotals totals = tag < memory.tags.size() ? memory.tags[tag] : TagTotals{};
    const TagFact fact = parts.recorder.tags[tag];
    if (totals.total_count == 0 && fact.total_ns == 0) continue;
    for (std::size_t axis = 0; axis < kAxes; ++axis) {
      const Group group = fact.groups[axis];
      const auto [entry, is_new] =
          entries.try_emplace(Key{axis, fact.place.device, fact.place.kind, fact.values[axis]});
      if (is_new) {
        entry->second.axis = static_cast<Axis>(axis);
        entry->second.value = value_text(parts, entry->second.axis, fact.values[axis]);
        entry->second.device = fact.place.device;
        entry->second.kind = fact.place.kind;
        if (group < memory.group_peaks.size()) {
          entry->second.own_peak_bytes = memory.group_peaks[group];
        }
      }
      add(entry->second, totals, fact);
      if (group != 0 && group < memory.group_peaks.size()) continue;
      const SiteTotals& sum = entry->second.totals;
      entry->second.own_peak_bytes = std::max(sum.peak_bytes, sum.live_bytes);
    }
  }
  std::vector<AxisEntry> axes;
  axes.reserve(entries.size());
  for (auto& [key, entry] : entries) axes.push_back(std::move(entry));
  sort_axes(axes);
  return axes;
}

// Tags are numbered in order, and a thread's first allocation makes one.
std::vector<ThreadStart> make_threads(const RecorderFacts& facts) {
  std::vector<bool> is_told(facts.threads.size());
  std::vector<ThreadStart> starts;
  for (std::size_t tag = 1; tag < facts.tags.size(); ++tag) {
    const TagFact fact = facts.tags[tag];
    const std::uint32_t thread = fact.values[static_cast<std::size_t>(Axis::thread)];
    const bool is_known = thread != 0 && thread < facts.threads.size() && !is_told[thread] &&
                          fact.site < facts.sites.size();
    if (!is_known) continue;
    const std::vector<std::uint32_t> frames = facts.sites[fact.site].frames;
    if (frames.empty()) continue;
    is_told[thread] = true;
    const auto kept = static_cast<std::ptrdiff_t>(std::min(frames.size(), kFramesOfStart));
    starts.push_back({.thread = thread_text(facts.threads[thread]),
                      .frames = {frames.end() - kept, frames.end()}});
  }
  return starts;
}

TimelineFacts make_timeline(const ReportParts& parts) {
  const Snapshot& memory = parts.memory;
  TimelineFacts timeline;
  timeline.allocations = memory.allocations;
  timeline.duration_ns = memory.taken_ns - std::min(start_of(memory), memory.taken_ns);
  timeline.start_ns =
      parts.process.report_time_ns - std::min(timeline.duration_ns, parts.process.report_time_ns);
  for (const TagTotals& tag : memory.tags) {
    if (tag.history.used != 0) timeline.past_interval = tag.history.interval();
  }
  for (const TimelineSnapshot& series : memory.timelines) {
    if (series.highest.empty()) continue;
    timeline.series.push_back({.kind = series.kind,
                               .device = series.device,
                               .bucket_ns = series.bucket_ns,
                               .highest = series.highest,
                               .last = series.last});
  }
  return timeline;
}

namespace {

std::string kind_name(Kind kind) { return std::string(kKindNames[static_cast<std::size_t>(kind)]); }

using OwnerKey = std::tuple<std::uint16_t, Kind, std::string>;

// Attributes what the driver rounded up to the owners of the memory. The owner of whole pages gets
// their rest; the rest of shared pages is divided by bytes. The rest of our idle segments has no
// owner.
class Rounding {
 public:
  explicit Rounding(const ReportParts& parts) {
    for (const SegmentSnapshot& segment : parts.memory.segments) add(parts, segment);
    for (const DeviceFacts& facts : parts.devices) {
      const std::uint64_t known = facts.context_bytes + facts.module_bytes + facts.exported_bytes +
                                  facts.pool_bytes + facts.before_bytes.value_or(0);
      gaps_[facts.index] = std::min(gaps_on(parts.memory, facts.index),
                                    facts.outside_bytes - std::min(known, facts.outside_bytes));
    }
    share_out();
  }
  // Returns what small allocations leave free in the shared pages that they use.
  [[nodiscard]] std::uint64_t gaps(std::uint16_t device) const {
    const auto found = gaps_.find(device);
    return found == gaps_.end() ? 0 : found->second;
  }
  [[nodiscard]] std::uint64_t of(const LedgerEntry& entry, Kind kind) const {
    const auto found = of_owner_.find({entry.device, kind, entry.owner});
    return found == of_owner_.end() ? 0 : found->second;
  }
  [[nodiscard]] std::uint64_t idle(std::uint16_t device) const {
    const auto found = idle_.find(device);
    return found == idle_.end() ? 0 : found->second;
  }

 private:
  void add(const ReportParts& parts, const SegmentSnapshot& segment) {
    const Pages pages = pages_of(segment.place.kind, segment.total_size);
    if (pages == Pages::unknown) return;
    const std::uint64_t rest = rest_of_pages(segment.total_size);
    if (pages == Pages::own && rest == 0) return;
    const bool has_owner = segment.is_direct || segment.is_dedicated;
    const bool is_live = has_owner && segment.active_size != 0;
    if (!is_live && pages == Pages::own) {
      idle_[segment.place.device] += rest;
      return;
    }
    const Tag tag = is_live ? parts.memory.blocks[segment.first_block].tag : 0;
    const OwnerKey key{segment.place.device, segment.place.kind,
                       is_live ? value_of_tag(parts, Axis::owner, tag) : std::string()};
    (pages == Pages::own ? of_owner_ : shared_)[key] +=
        pages == Pages::own ? rest : segment.total_size;
  }

  void share_out() {
    std::map<std::pair<std::uint16_t, Kind>, std::uint64_t> whole;
    for (const auto& [key, bytes] : shared_) whole[{std::get<0>(key), std::get<1>(key)}] += bytes;
    for (const auto& [place, all] : whole) share_out(place.first, place.second, all);
  }
  void share_out(std::uint16_t device, Kind kind, std::uint64_t all) {
    std::uint64_t rest = rest_of_pages(all) + (kind == Kind::device ? gaps(device) : 0);
    std::uint64_t left = all;
    for (const auto& [key, bytes] : shared_) {
      if (std::get<0>(key) != device || std::get<1>(key) != kind || left == 0) continue;
      const auto part = static_cast<std::uint64_t>(
          static_cast<double>(rest) * static_cast<double>(bytes) / static_cast<double>(left));
      const std::uint64_t given = bytes == left ? rest : std::min(part, rest);
      (std::get<2>(key).empty() ? idle_[device] : of_owner_[key]) += given;
      rest -= given;
      left -= bytes;
    }
  }

  std::map<OwnerKey, std::uint64_t> of_owner_;
  std::map<OwnerKey, std::uint64_t> shared_;  // bytes; those of our idle segments have no owner
  std::map<std::uint16_t, std::uint64_t> idle_;
  std::map<std::uint16_t, std::uint64_t> gaps_;
};

// Pinned memory takes of the device whose memory is the host's. It names no device, as if it were
// 0.
bool takes_memory_of(const DeviceFacts& facts, Kind kind, std::uint16_t device) {
  const bool is_host = kind == Kind::pinned && facts.unified && facts.index == 0;
  return is_host || (takes_device_memory(kind) && device == facts.index);
}

bool takes_memory_of_any(const ReportParts& parts, const KindTotals& totals) {
  if (takes_device_memory(totals.kind)) return true;
  return std::any_of(parts.devices.begin(), parts.devices.end(), [&](const DeviceFacts& facts) {
    return takes_memory_of(facts, totals.kind, totals.device);
  });
}

// Adds rows for memory on the device other than the blocks that the program holds.
void add_rest(const DeviceFacts& facts, const Snapshot& memory, const Rounding& rounding,
              std::vector<LedgerEntry>& ledger) {
  std::uint64_t reserved = 0;
  for (const SegmentSnapshot& segment : memory.segments) {
    const Kind kind = segment.place.kind;
    const bool is_cut = kind == Kind::device || kind == Kind::pinned;
    if (is_cut && takes_memory_of(facts, kind, segment.place.device))
      reserved += segment.total_size;
  }
  std::uint64_t live = 0;
  for (const KindTotals& totals : memory.kinds) {
    const bool is_cut = totals.kind == Kind::device || totals.kind == Kind::pinned;
    if (is_cut && takes_memory_of(facts, totals.kind, totals.device)) live += totals.current_bytes;
  }
  const auto add = [&](LedgerRow row, std::uint64_t bytes) {
    if (bytes == 0) return;
    const auto [kind, owner] = words_of(row);
    ledger.push_back({.device = facts.index,
                      .kind = kind,
                      .owner = owner,
                      .current_bytes = bytes,
                      .peak_bytes = bytes,
                      .calls = 0,
                      .device_bytes = bytes});
  };
  add(LedgerRow::cached, reserved - std::min(live, reserved) + rounding.idle(facts.index));
  std::uint64_t outside = facts.outside_bytes;
  if (is_measured(facts.measured_by)) {
    const std::uint64_t contexts = std::min(facts.context_bytes, outside);
    add(LedgerRow::contexts, contexts);
    outside -= contexts;
    const std::uint64_t modules = std::min(facts.module_bytes, outside);
    add(LedgerRow::modules, modules);
    outside -= modules;
  }
  const std::uint64_t exported = std::min(facts.exported_bytes, outside);
  add(LedgerRow::exported, exported);
  outside -= exported;
  const std::uint64_t in_pools = std::min(facts.pool_bytes, outside);
  add(LedgerRow::pools, in_pools);
  outside -= in_pools;
  outside -= std::min(rounding.gaps(facts.index), outside);
  const std::uint64_t before = std::min(facts.before_bytes.value_or(0), outside);
  add(LedgerRow::before, before);
  outside -= before;
  for (const DeviceProcess& process : facts.other_processes) {
    const std::uint64_t bytes = std::min(process.bytes, outside);
    add(LedgerRow::others, bytes);
    if (bytes != 0) ledger.back().owner = process_name(process);
    outside -= bytes;
  }
  add(LedgerRow::others, outside);
}

}  // namespace

// Adds what tags do not cover: memory of unknown origin, and memory that no call requested.
std::vector<LedgerEntry> make_ledger(const ReportParts& parts, const std::vector<AxisEntry>& axes) {
  std::vector<LedgerEntry> ledger;
  const Rounding rounding(parts);
  for (const KindTotals& totals : parts.memory.kinds) {
    LedgerEntry unknown{.device = totals.device,
                        .kind = kind_name(totals.kind),
                        .owner = "unknown",
                        .current_bytes = totals.current_bytes,
                        .peak_bytes = totals.peak_bytes,
                        .calls = totals.allocations};
    const bool on_device = takes_memory_of_any(parts, totals);
    for (const AxisEntry& entry : axes) {
      const bool is_part = entry.axis == Axis::owner && entry.kind == totals.kind &&
                           entry.device == totals.device && entry.totals.total_count != 0;
      if (!is_part) continue;
      const SiteTotals& sum = entry.totals;
      ledger.push_back({.device = entry.device,
                        .kind = kind_name(entry.kind),
                        .owner = entry.value,
                        .current_bytes = sum.live_bytes,
                        .peak_bytes = entry.own_peak_bytes,
                        .calls = sum.total_count,
                        .device_bytes = on_device ? sum.live_bytes : 0});
      ledger.back().device_bytes += rounding.of(ledger.back(), totals.kind);
      unknown.current_bytes -= std::min(unknown.current_bytes, sum.live_bytes);
      unknown.peak_bytes -= std::min(unknown.peak_bytes, sum.peak_bytes);
      unknown.calls -= std::min(unknown.calls, sum.total_count);
    }
    if (unknown.calls == 0) continue;
    // What came after the peak of the kind is in the current value alone.
    unknown.peak_bytes = std::max(unknown.peak_bytes, unknown.current_bytes);
    unknown.device_bytes = on_device ? unknown.current_bytes : 0;
    unknown.device_bytes += rounding.of(unknown, totals.kind);
    ledger.push_back(unknown);
  }
  std::stable_sort(ledger.begin(), ledger.end(),
                   [](const LedgerEntry& a, const LedgerEntry& b) { return a.device < b.device; });
  for (const DeviceFacts& facts : parts.devices) add_rest(facts, parts.memory, rounding, ledger);
  std::stable_sort(ledger.begin(), ledger.end(),
                   [](const LedgerEntry& a, const LedgerEntry& b) { return a.device < b.device; });
  return ledger;
}

}  // namespace vramscope
