// Compares what was asked for with what was free and with what is stranded.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/map_refusal.h"

#include <cstdint>
#include <optional>

#include "reporter/report/report.h"
#include "reporter/view/analysis/segment_sizes.h"
#include "reporter/view/text/oom_text.h"

namespace vramscope {
namespace {

// Whether what was refused then was of this memory, and its bytes are known.
bool is_of_refusal(const MapPlace& place, const MapMoment& moment) {
  return moment.refused && moment.refused->kind == place.kind &&
         moment.refused->device == place.device && moment.refused->bytes != 0;
}

// What was free for it; nothing where nobody knows.
std::optional<std::uint64_t> free_for_refusal(const Report& report, const OomEvent& event) {
  if (const std::uint64_t limit = refusing_limit(report, event); limit != 0) {
    if (!knows_free_under_limit(event)) return std::nullopt;
    return free_under_limit(limit, event);
  }
  if (event.by_limit || event.total_bytes == 0) return std::nullopt;
  return event.free_bytes;
}

// What is stranded where the request is served from.
std::uint64_t stranded_for(const Report& report, const MapPlace& place, const OomEvent& event) {
  if (!is_for_small_pool(report, event)) return place.stranded_bytes;
  std::uint64_t bytes = 0;
  for (const MapSegment& segment : place.segments) {
    if (segment.pool == MapPool::small) bytes += segment.stranded_bytes();
  }
  return bytes;
}

}  // namespace

bool stranding_refused(const Report& report, const MapPlace& place, const MapMoment& moment) {
  if (!is_of_refusal(place, moment)) return false;
  const std::optional<std::uint64_t> free = free_for_refusal(report, *moment.refused);
  const std::uint64_t bytes = moment.refused->bytes;
  return free && bytes > *free && bytes - *free <= stranded_for(report, place, *moment.refused);
}

std::string refused_then_text(const Report& report, const MapPlace& place, const MapMoment& moment,
                              const Page& page) {
  if (!is_of_refusal(place, moment)) return "";
  const OomEvent& event = *moment.refused;
  std::string text = "refused then: " + amount_text(event.bytes);
  if (moment.refusals > 1) {
    text += " (the " + ordinal_text(event.number) + " of " + std::to_string(moment.refusals) + ")";
  }
  if (const std::optional<std::uint64_t> free = free_for_refusal(report, event)) {
    const std::uint64_t limit = refusing_limit(report, event);
    text += limit != 0
                ? ", " + amount_text(*free) + " free under the limit of " + amount_text(limit)
                : ", the driver had " + amount_text(*free) + " free";
  }
  const std::uint64_t stranded = stranded_for(report, place, event);
  if (stranding_refused(report, place, moment)) {
    text += "; with the stranded " + amount_text(stranded) + " it would have had enough";
  } else if (stranded < place.stranded_bytes) {
    text += "; " + amount_text(place.stranded_bytes - stranded) +
            " of what is stranded serve requests above 1.00 MiB only";
  }
  if (is_refused_by_policy(report, event)) {
    text += "; --policy pytorch asked for a segment of " + amount_text(kLargeSegment) +
            ", --exact-fallback off for none of its size";
  }
  if (native_safe_serves(report, event)) text += "; --policy native-safe would have served it";
  return paragraph(text, page);
}

}  // namespace vramscope
