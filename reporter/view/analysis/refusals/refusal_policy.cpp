// Judges what the policy of the cache had to do with a refusal.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/refusals/refusal_policy.h"

#include <algorithm>

#include "allocator/base/driver_pages.h"
#include "reporter/report/options_of.h"
#include "reporter/report/report.h"
#include "reporter/view/analysis/refusals/refusal_limit.h"
#include "reporter/view/analysis/segment_sizes.h"

namespace vramscope {

bool is_observed(const Report& report) { return report.process.mode == "observe"; }

bool is_for_small_pool(const Report& report, const OomEvent& event) {
  return report.process.mode == "cache" && option_of(report, "policy") == "pytorch" &&
         event.kind == Kind::device && event.bytes != 0 && event.bytes <= kMostInSharedPages;
}

// What native-safe has reserved for the same blocks is what the driver would, in its pages.
bool native_safe_serves(const Report& report, const OomEvent& event) {
  const bool is_told = event.has_details && event.total_bytes != 0 && event.bytes != 0;
  if (!is_told || is_host(event.kind) || report.process.mode != "cache") return false;
  if (option_of(report, "policy") != "pytorch") return false;
  const std::uint64_t limit = refusing_limit(report, event);
  if (limit == 0 && event.by_limit) return false;
  const std::uint64_t free = limit == 0 ? event.free_bytes : free_under_limit(limit, event);
  // Its own rounding may take more than the cache withheld: then less would have been free.
  const std::uint64_t needed = event.bytes + rest_of_pages(event.bytes) + event.free_bytes;
  return event.bytes <= event.total_bytes && needed <= free + event.native_free_bytes;
}

std::uint64_t free_for_segment(const Report& report, const OomEvent& event) {
  const bool asks_for_more = event.bytes > kSmallRequest && event.bytes < kOwnSegment;
  if (!event.has_details || !asks_for_more || event.kind != Kind::device) return 0;
  if (report.process.mode != "cache" || option_of(report, "policy") != "pytorch") return 0;
  if (option_of(report, "exact_fallback") != "off") return 0;
  if (!option_of(report, "alloc_conf").empty()) return 0;  // may name another size
  const std::uint64_t limit = refusing_limit(report, event);
  if (limit == 0 && (event.by_limit || event.total_bytes == 0)) return 0;
  const std::uint64_t free = limit == 0 ? event.free_bytes : free_under_limit(limit, event);
  return event.bytes + rest_of_pages(event.bytes) <= free && free < kLargeSegment ? free : 0;
}

bool is_refused_by_policy(const Report& report, const OomEvent& event) {
  return free_for_segment(report, event) != 0;
}

// The default policy withholds nothing of it for good: what is free in pieces of its segments, the
// driver would have in pieces of its own pages.
std::uint64_t native_free_then(const Report& report, const OomEvent& event) {
  if (is_observed(report)) return event.free_bytes;
  const bool is_native_safe = report.process.mode == "cache" &&
                              option_of(report, "policy") == "native-safe" &&
                              option_of(report, "alloc_conf").empty();
  if (!is_native_safe) return event.native_free_bytes;
  return std::min(event.native_free_bytes,
                  event.free_bytes + event.idle_bytes + event.pending_bytes);
}

}  // namespace vramscope
