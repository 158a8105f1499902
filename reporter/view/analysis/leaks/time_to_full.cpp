// Extends the growth of a place to the end of what is left.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/leaks/time_to_full.h"

#include <algorithm>

#include "allocator/base/place.h"
#include "reporter/report/ledger_row.h"
#include "reporter/report/reserved_memory.h"
#include "reporter/view/analysis/sampled_free.h"
#include "reporter/view/analysis/subject.h"

namespace vramscope {
namespace {

// What of a limit is left, or of the device: free, and idle in our cache.
std::uint64_t left_on(const Report& report, const DeviceFacts& device,
                      const ReservedMemory& reserved) {
  std::uint64_t ours = 0;
  for (const LedgerEntry& entry : report.ledger) {
    const bool is_ours = entry.device == device.index && row_of(entry) != LedgerRow::others;
    if (is_ours) ours += entry.device_bytes;
  }
  const std::uint64_t limit = device.limit_bytes;
  const std::optional<SampledFree> sampled = sampled_free(report, device.index);
  const std::uint64_t free = sampled ? sampled->now() : device.free_bytes;
  return (limit == 0 ? free : std::min(free, limit - std::min(limit, ours))) +
         reserved.idle_now.value_or(0);
}

// How much of the device a requested byte takes: blocks are rounded up.
double taken_by_byte(const Report& report, const DeviceFacts& device,
                     const ReservedMemory& reserved) {
  std::uint64_t requested = 0;
  for (const KindFacts& kind : report.kinds) {
    if (kind.kind == Kind::device && kind.device == device.index) requested += kind.current_bytes;
  }
  if (requested == 0 || !reserved.idle_now) return 1;
  const std::uint64_t used = reserved.now - std::min(reserved.now, *reserved.idle_now);
  return std::max(1.0, static_cast<double>(used) / static_cast<double>(requested));
}

}  // namespace

std::uint64_t full_in_ns(const Report& report, const Share& share) {
  const Site& site = report.sites[share.site];
  const bool is_told = !is_merged(report) && report.oom.events.empty() && !site.is_part &&
                       site.parts.size() == 1 && takes_device_memory(share.kind);
  if (!is_told || share.count < 2 || site.live_span_ns == 0) return 0;
  const DeviceReport* const device = find_device(report, share.device);
  if (device == nullptr || device->facts.free_bytes == 0) return 0;
  const ReservedMemory reserved = reserved_memory(report, *device);
  const auto count = static_cast<double>(share.count);
  const double taken =
      share.kind == Kind::device ? taken_by_byte(report, device->facts, reserved) : 1;
  const double in_span_bytes = static_cast<double>(share.bytes) * (count - 1) / count * taken;
  const double ns = static_cast<double>(left_on(report, device->facts, reserved)) / in_span_bytes *
                    static_cast<double>(site.live_span_ns);
  constexpr double kYear = 3.2e16;  // from there on nobody asks
  return ns < kYear ? static_cast<std::uint64_t>(ns) : 0;
}

}  // namespace vramscope
