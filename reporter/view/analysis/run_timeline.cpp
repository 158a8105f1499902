// A timeline's curves, and what of them a window shows.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/run_timeline.h"

#include <algorithm>

#include "reporter/report/memory_name.h"

namespace vramscope {
namespace {

// Leaves the buckets that the time has a part in; one at least.
void cut(RunCurve& curve, std::uint64_t from_ns, std::uint64_t to_ns) {
  const std::size_t buckets = curve.highest.size();
  if (buckets == 0 || curve.bucket_ns == 0) return;
  const auto after_first = [&](std::uint64_t at) { return at - std::min(at, curve.first_ns); };
  const std::size_t first =
      std::min<std::size_t>(after_first(from_ns) / curve.bucket_ns, buckets - 1);
  const std::size_t end = std::clamp<std::size_t>(
      (after_first(to_ns) + curve.bucket_ns - 1) / curve.bucket_ns, first + 1, buckets);
  const auto keep = [&](std::vector<std::uint64_t>& values) {
    values.resize(std::min(end, values.size()));
    values.erase(values.begin(),
                 values.begin() + static_cast<std::ptrdiff_t>(std::min(first, values.size())));
  };
  keep(curve.highest);
  keep(curve.last);
  curve.first_ns += first * curve.bucket_ns;
}

}  // namespace

std::uint64_t RunCurve::highest_between(std::uint64_t from, std::uint64_t to) const {
  const std::size_t buckets = highest.size();
  if (buckets == 0 || bucket_ns == 0 || to <= first_ns) return 0;
  from = std::max(from, first_ns) - first_ns;
  to -= first_ns;
  const std::size_t first = from / bucket_ns;
  if (first >= buckets) return last.empty() ? 0 : last.back();
  const std::size_t end = std::min<std::size_t>(buckets, std::max(to, from + 1) / bucket_ns + 1);
  std::uint64_t most = 0;
  for (std::size_t b = first; b < end; ++b) {
    const bool begins_after = b != first && b * bucket_ns >= to;
    if (!begins_after) most = std::max(most, highest[b]);
  }
  return most;
}

std::uint64_t RunCurve::last_at(std::uint64_t instant) const {
  if (last.empty() || bucket_ns == 0 || instant < first_ns) return 0;
  return last[std::min<std::uint64_t>((instant - first_ns) / bucket_ns, last.size() - 1)];
}

void choose(RunTimeline& timeline, const TimelineChoice& choice) {
  const auto name = [](auto& one) {
    if (one.memory.empty()) one.memory = memory_name(one.kind, one.device);
  };
  std::for_each(timeline.curves.begin(), timeline.curves.end(), name);
  std::for_each(timeline.marks.begin(), timeline.marks.end(), name);
  timeline.from_ns = choice.from_ns.value_or(0);
  timeline.to_ns = std::max(choice.to_ns.value_or(timeline.length_ns), timeline.from_ns + 1);
  const auto order_of = [&](const RunCurve& curve) {
    return std::pair(curve.highest_between(timeline.from_ns, timeline.to_ns),
                     curve.is_of_all_kinds);
  };
  std::erase_if(timeline.curves, [](const RunCurve& curve) { return !holds_memory(curve.kind); });
  if (choice.from_ns || choice.to_ns) {
    for (RunCurve& curve : timeline.curves) cut(curve, timeline.from_ns, timeline.to_ns);
  }
  std::stable_sort(timeline.curves.begin(), timeline.curves.end(),
                   [&](const RunCurve& a, const RunCurve& b) { return order_of(a) > order_of(b); });
  std::erase_if(timeline.marks, [&](const RunMark& mark) {
    const bool is_of_view = mark.what == RunMark::What::peak && !holds_memory(mark.kind);
    return is_of_view || mark.at_ns < timeline.from_ns || mark.at_ns > timeline.to_ns;
  });
  std::stable_sort(timeline.marks.begin(), timeline.marks.end(),
                   [](const RunMark& a, const RunMark& b) { return a.at_ns < b.at_ns; });
  std::erase_if(timeline.named, [&](const NamedInstant& mark) {
    return mark.time_ns < timeline.from_ns || mark.time_ns > timeline.to_ns;
  });
  std::stable_sort(
      timeline.named.begin(), timeline.named.end(),
      [](const NamedInstant& a, const NamedInstant& b) { return a.time_ns < b.time_ns; });
}

void put_ranges_of_peak_first(RunTimeline& timeline) {
  const auto highest = std::max_element(
      timeline.marks.begin(), timeline.marks.end(), [](const auto& a, const auto& b) {
        const auto bytes = [](const RunMark& mark) {
          return mark.what == RunMark::What::peak ? mark.bytes : 0;
        };
        return bytes(a) < bytes(b);
      });
  if (highest == timeline.marks.end() || highest->what != RunMark::What::peak) return;
  const auto was_open = [&](const RunRange& range) {
    return std::any_of(range.spans.begin(), range.spans.end(), [&](const auto& span) {
      return span.first <= highest->at_ns && highest->at_ns <= span.second;
    });
  };
  std::stable_partition(timeline.ranges.begin(), timeline.ranges.end(), was_open);
}

}  // namespace vramscope
