// Takes what a report has live as if it were a peak.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/peaks/moment_answer.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace vramscope {
namespace {

std::vector<Share> shares_of(const std::vector<Share>& all, const KindFacts& kind) {
  std::vector<Share> shares;
  for (Share share : all) {
    if (share.kind != kind.kind || share.device != kind.device || share.bytes == 0) continue;
    share.whole = kind.peak_bytes;
    shares.push_back(share);
  }
  return shares;
}

// Their `peak_bytes` are what the values held at the instant.
std::vector<AxisEntry> values_then(const Report& report, const KindFacts& kind, Axis axis) {
  std::vector<AxisEntry> values;
  for (AxisEntry entry : report.axes) {
    const bool counts = entry.axis == axis && entry.kind == kind.kind &&
                        entry.device == kind.device && entry.totals.live_bytes != 0;
    if (!counts) continue;
    entry.totals.peak_bytes = entry.totals.live_bytes;
    values.push_back(std::move(entry));
  }
  std::stable_sort(values.begin(), values.end(), [](const AxisEntry& a, const AxisEntry& b) {
    return a.totals.peak_bytes > b.totals.peak_bytes;
  });
  return values;
}

}  // namespace

std::uint64_t MomentAnswer::bytes() const {
  return std::accumulate(
      kinds.begin(), kinds.end(), std::uint64_t{0},
      [](std::uint64_t sum, const PeakOfKind& row) { return sum + row.kind.peak_bytes; });
}

std::uint64_t live_count(const PeakOfKind& row) {
  return std::accumulate(row.live.begin(), row.live.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const Share& share) { return sum + share.count; });
}

MomentAnswer moment_answer(const Report& report, AskedInstant instant) {
  MomentAnswer answer{.instant = std::move(instant)};
  const std::vector<Share> shares = shares_live(report);
  for (const KindFacts& kind : report.kinds) {
    if (!holds_memory(kind.kind) || kind.current_bytes == 0) continue;
    PeakOfKind& row = answer.kinds.emplace_back(PeakOfKind{.kind = kind});
    row.kind.peak_bytes = kind.current_bytes;
    row.live = shares_of(shares, row.kind);
    for (std::size_t i = 0; i < kAxes; ++i) {
      row.values[i] = values_then(report, kind, static_cast<Axis>(i));
    }
  }
  std::stable_sort(answer.kinds.begin(), answer.kinds.end(),
                   [](const PeakOfKind& a, const PeakOfKind& b) {
                     return a.kind.peak_bytes > b.kind.peak_bytes;
                   });
  return answer;
}

}  // namespace vramscope
