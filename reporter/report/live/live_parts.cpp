// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/live/live_parts.h"

#include <algorithm>
#include <utility>

#include "reporter/record/recovery.h"
#include "reporter/report/live/live_image.h"

namespace vramscope {
namespace {

void set_time(ReportParts& parts, const RecoveredProcess& known) {
  const std::uint64_t last_ns = parts.process.report_time_ns;
  if (parts.memory.taken_ns == 0) return;
  const std::uint64_t now_ns = known.wall_ns + (parts.memory.taken_ns - known.clock_ns);
  parts.process.report_time_ns = now_ns;
  for (DeviceFacts& device : parts.devices) {
    const std::uint64_t age_ns = device.free_bytes_age_ns + now_ns;
    device.free_bytes_age_ns = age_ns - std::min(age_ns, last_ns);
  }
}

}  // namespace

ReportParts live_parts(const LiveHeader& header, const RecoveredProcess& known, Snapshot memory) {
  ReportParts parts;
  parts.sequence = known.next_sequence;
  parts.process = known.process;
  parts.devices = known.devices;
  parts.sample_bytes = known.sample_bytes;
  parts.function_names = known.function_names;
  parts.memory = std::move(memory);
  parts.recorder = recover_facts(header);
  set_time(parts, known);
  return parts;
}

ApartLimits limits_for(int file) {
  constexpr std::uint64_t kOwnBytes = std::uint64_t{1} << 30;
  constexpr std::uint64_t kCopies = 24;  // tables take more as text and as values
  return {.address_bytes = kOwnBytes + kCopies * live_bytes(file)};
}

}  // namespace vramscope
