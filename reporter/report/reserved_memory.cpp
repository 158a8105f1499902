// Separates idle memory from needed memory by a report's counters.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/reserved_memory.h"

#include <algorithm>
#include <charconv>

#include "allocator/base/place.h"
#include "reporter/report/ledger_row.h"
#include "reporter/report/memory_stats.h"
#include "reporter/report/options_of.h"
#include "reporter/report/report.h"

namespace vramscope {
namespace {

// The same values as in allocator/base/size_policy.h.
constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::uint64_t kSmallPage = 2 * kMiB;
constexpr std::uint64_t kLargePage = 20 * kMiB;

// Returns whether a block of more than 1 MiB is a segment of its own. That is not so under
// PyTorch's policy, and not assumed if the policy is unknown.
bool keeps_large_blocks_whole(const Report& report) {
  const std::string_view mode = report.process.mode;
  return mode == "dedicated" || mode == "observe" ||
         (mode == "cache" && option_of(report, "policy") == "native-safe");
}

// Other tools' reports may lack some counters.
bool counts_active(const DeviceStatistics& stats) {
  return stats.active_bytes.all.peak >= stats.allocated_bytes.all.peak;
}

// Returns the page size of a segment: 2 MiB with growing_segments; with expandable_segments, pages
// of the large pool are as large as its segments.
std::uint64_t page_bytes(const Report& report, const SegmentFacts& segment) {
  if (segment.is_small || allocator_setting(report, "growing_segments") == "True")
    return kSmallPage;
  const std::string_view megabytes = allocator_setting(report, "large_segment_size_mb");
  std::uint64_t number = 0;
  const auto read = std::from_chars(megabytes.begin(), megabytes.end(), number);
  const bool is_set = read.ec == std::errc() && number != 0 && number < (std::uint64_t{1} << 40);
  return is_set ? number * kMiB : kLargePage;
}

std::uint64_t idle_in(const Report& report, const SegmentFacts& segment) {
  if (segment.is_direct) return 0;
  if (!segment.is_expandable) return segment.active_size == 0 ? segment.total_size : 0;
  std::uint64_t idle = 0;
  for (const BlockFacts& block : segment.blocks) {
    if (block.state != BlockState::inactive) continue;
    idle += returnable_bytes(report, segment, block.address - segment.address, block.size);
  }
  return idle;
}

std::optional<std::uint64_t> idle_in(const Report& report, const DeviceReport& device) {
  std::uint64_t idle = 0, listed = 0;
  for (const SegmentFacts& segment : device.segments) {
    if (segment.kind != Kind::device) continue;
    idle += idle_in(report, segment);
    listed += segment.total_size;
  }
  if (listed != positive(device.statistics.reserved_bytes.all.current)) return {};
  return idle;
}

// Returns the whole pages that the driver gave for what is live of a kind.
std::uint64_t pages_of(const Report& report, const KindFacts& kind) {
  std::uint64_t bytes = 0;
  for (const LedgerEntry& entry : report.ledger) {
    const bool is_its = entry.device == kind.device && row_of(entry) == LedgerRow::memory &&
                        entry.kind == kKindNames[static_cast<std::size_t>(kind.kind)];
    if (is_its) bytes += entry.device_bytes;
  }
  return bytes;
}

// Pages and pools were sampled once: what was live then, and what the pools kept, was reserved.
// requested, reserved: the figures of the peak, or those of the report.
std::uint64_t reserved_for(const Report& report, const KindFacts& kind,
                           std::uint64_t KindFacts::*requested, std::int64_t Stat::*reserved) {
  const auto device =
      std::find_if(report.devices.begin(), report.devices.end(),
                   [&](const DeviceReport& one) { return one.facts.index == kind.device; });
  const bool is_known = device != report.devices.end();
  if (is_known && kind.kind == Kind::device && device->used) {
    return positive(device->statistics.reserved_bytes.all.*reserved);
  }
  const bool has_pools = is_known && kind.kind == Kind::stream_ordered;
  return std::max(kind.*requested,
                  pages_of(report, kind) + (has_pools ? device->facts.pool_bytes : 0));
}

// Returns the sum of the most that each process of a merged report needed, or nothing if one of
// them is not known.
std::optional<std::uint64_t> needed_by_all(const Report& report, std::uint16_t device) {
  std::uint64_t sum = 0;
  for (const MergedProcess& process : report.processes) {
    for (const ProcessDevice& one : process.devices) {
      if (one.index != device) continue;
      if (one.needed_most_bytes < 0) return {};
      sum += positive(one.needed_most_bytes);
    }
  }
  if (report.processes.empty()) return {};
  return sum;
}

}  // namespace

// In a file without this counter it is 0.
std::optional<std::uint64_t> allocated_peak(const DeviceReport& device) {
  const Stat& allocated = device.statistics.allocated_bytes.all;
  const bool is_absent = allocated.peak == 0 && device.statistics.requested_bytes.all.peak > 0;
  if (allocated.peak < 0 || is_absent || allocated.peak < allocated.current) return {};
  return positive(allocated.peak);
}

ReservedMemory reserved_memory(const Report& report, const DeviceReport& device) {
  const DeviceStatistics& stats = device.statistics;
  ReservedMemory found{.peak = positive(stats.reserved_bytes.all.peak),
                       .now = positive(stats.reserved_bytes.all.current),
                       .needed_least = positive(
                           std::max(stats.active_bytes.all.peak, stats.requested_bytes.all.peak)),
                       .needed_most = 0,
                       .idle_now = idle_in(report, device)};
  found.needed_least = std::min(found.needed_least, found.peak);
  found.needed_most = found.peak;
  if (const auto sum = needed_by_all(report, device.facts.index)) {
    found.needed_most = std::clamp(*sum, found.needed_least, found.peak);
  } else if (keeps_large_blocks_whole(report) && counts_active(stats)) {
    const std::uint64_t most = positive(stats.active_bytes.large_pool.peak) +
                               positive(stats.reserved_bytes.small_pool.peak);
    found.needed_most = std::clamp(most, found.needed_least, found.peak);
  }
  return found;
}

ReservedOfAllKinds reserved_of_all_kinds(const Report& report, std::uint16_t device) {
  ReservedOfAllKinds all;
  std::uint64_t now = 0;
  for (const KindFacts& kind : report.kinds) {
    if (!takes_device_memory(kind.kind) || kind.device != device || kind.peak_bytes == 0) continue;
    const std::uint64_t bytes = reserved_for(report, kind, &KindFacts::peak_bytes, &Stat::peak);
    all.least = std::max(all.least, bytes);
    all.most += bytes;
    now += reserved_for(report, kind, &KindFacts::current_bytes, &Stat::current);
  }
  all.least = std::max(all.least, std::min(now, all.most));
  return all;
}

bool cuts_large_segments(const Report& report) {
  return report.process.mode == "cache" && option_of(report, "policy") == "pytorch";
}

bool yields_to_others(const Report& report) {
  return report.process.mode == "cache" && option_of(report, "policy") == "native-safe";
}

std::string_view allocator_setting(const Report& report, std::string_view name) {
  std::string_view rest = option_of(report, "alloc_conf");
  std::string_view found;
  while (!rest.empty()) {
    std::string_view item = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), item.size() + 1));
    item.remove_prefix(std::min(item.find_first_not_of(' '), item.size()));
    item = item.substr(0, item.find_last_not_of(' ') + 1);
    const std::size_t colon = item.find(':');
    if (colon != item.npos && item.substr(0, colon) == name) found = item.substr(colon + 1);
  }
  return found;
}

std::uint64_t returnable_bytes(const Report& report, const SegmentFacts& segment,
                               std::uint64_t offset, std::uint64_t bytes) {
  if (bytes == segment.total_size) return bytes;
  if (!segment.is_expandable) return 0;
  const std::uint64_t page = page_bytes(report, segment);
  const std::uint64_t first = (offset + page - 1) / page;
  const std::uint64_t end = (offset + bytes) / page;
  return end > first ? std::min((end - first) * page, bytes) : 0;
}

}  // namespace vramscope
