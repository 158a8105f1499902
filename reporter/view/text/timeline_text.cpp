// Draws curves.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/timeline_text.h"

#include <algorithm>
#include <array>
#include <vector>

#include "allocator/ground/place.h"
#include "reporter/report/report.h"
#include "reporter/view/text/digest.h"
#include "reporter/view/text/json_text.h"

namespace vramscope {
namespace {

const TimelineSeries* series_of(const Report& report, const KindFacts& kind) {
  for (const TimelineSeries& series : report.timeline.series) {
    if (series.kind == kind.kind && series.device == kind.device) return &series;
  }
  return nullptr;
}

// When the curves end, after their start; reports that do not tell have it from their buckets.
std::uint64_t length_of(const Report& report) {
  std::uint64_t length = report.timeline.duration_ns;
  if (length != 0) return length;
  for (const TimelineSeries& series : report.timeline.series) {
    length = std::max(length, series.bucket_ns * series.highest.size());
  }
  return length;
}

// The highest between two instants. After the last bucket nothing changed any more.
std::uint64_t highest_between(const TimelineSeries& series, std::uint64_t from, std::uint64_t to) {
  const std::size_t buckets = series.highest.size();
  if (buckets == 0 || series.bucket_ns == 0) return 0;
  const std::size_t first = from / series.bucket_ns;
  if (first >= buckets) return series.last.empty() ? 0 : series.last.back();
  const std::size_t end = std::min(buckets, std::max(to, from + 1) / series.bucket_ns + 1);
  std::uint64_t highest = 0;
  for (std::size_t b = first; b < end; ++b) {
    const bool begins_after = b != first && b * series.bucket_ns >= to;
    if (!begins_after) highest = std::max(highest, series.highest[b]);
  }
  return highest;
}

// Each of `width` columns is as long a part of the whole, so that all curves have one axis.
std::string curve(const TimelineSeries& series, std::uint64_t peak, std::uint64_t length,
                  std::size_t width, const Page& page) {
  constexpr std::array<const char*, 9> kUnicode{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  constexpr std::array<const char*, 9> kAscii{" ", ".", ".", ":", "-", "=", "+", "*", "#"};
  const auto& levels = page.unicode ? kUnicode : kAscii;
  const double column = static_cast<double>(length) / static_cast<double>(width);
  std::string result;
  for (std::size_t i = 0; i < width; ++i) {
    const std::uint64_t highest =
        highest_between(series, static_cast<std::uint64_t>(static_cast<double>(i) * column),
                        static_cast<std::uint64_t>(static_cast<double>(i + 1) * column));
    const double share = peak == 0 ? 0 : static_cast<double>(highest) / static_cast<double>(peak);
    const auto level = static_cast<std::size_t>(share * 8 + 0.5);
    result += levels[std::min<std::size_t>(highest != 0 ? std::max<std::size_t>(level, 1) : 0, 8)];
  }
  return result;
}

}  // namespace

std::string timeline_text(const Report& report, const Page& page, std::size_t most) {
  constexpr std::size_t kNames = 40;  // columns beside the curve
  const std::vector<KindFacts> kinds = kinds_by_peak(report);
  const std::size_t width = page.width - std::min(kNames, page.width / 2);
  const std::uint64_t length = length_of(report);
  const std::string title = "From " + time_text(report.timeline.start_ns) + " on, " +
                            duration_text(length) + ", requested bytes";
  std::string result = coloured(fitted(title, page), Colour::bold, page) + "\n";
  for (std::size_t i = 0; i < rows_shown(kinds.size(), most); ++i) {
    const TimelineSeries* const series = series_of(report, kinds[i]);
    if (series == nullptr) continue;
    std::string name = memory_text(kinds[i].kind, kinds[i].device);
    name.resize(std::max<std::size_t>(name.size(), 11), ' ');
    std::string peak = "peak " + bytes_text(static_cast<std::int64_t>(kinds[i].peak_bytes));
    peak.resize(std::max<std::size_t>(peak.size(), 15), ' ');
    result += "  " + name + peak + "|" + curve(*series, kinds[i].peak_bytes, length, width, page) +
              "| " + duration_text(length) + "\n";
  }
  if (kinds.empty()) result += "  Nothing was allocated.\n";
  return result;
}

std::string timeline_json(const Report& report, std::size_t most) {
  JsonText json;
  json.object().field("start_ns", report.timeline.start_ns);
  json.field("duration_ns", report.timeline.duration_ns).key("series").array();
  const auto numbers = [&](std::string_view key, const std::vector<std::uint64_t>& values) {
    json.key(key).array();
    for (const std::uint64_t value : values) json.value(value);
    json.end();
  };
  for (std::size_t i = 0; i < rows_shown(report.timeline.series.size(), most); ++i) {
    const TimelineSeries& series = report.timeline.series[i];
    json.object().field("kind", kKindNames[static_cast<std::size_t>(series.kind)]);
    json.field("device", series.device).field("bucket_ns", series.bucket_ns);
    numbers("highest", series.highest);
    numbers("last", series.last);
    json.end();
  }
  return json.end().end().text();
}

}  // namespace vramscope
