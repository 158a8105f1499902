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

// As many columns as there are, each the highest of its buckets.
std::string curve(const TimelineSeries& series, std::uint64_t peak, std::size_t width,
                  const Page& page) {
  constexpr std::array<const char*, 9> kUnicode{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  constexpr std::array<const char*, 9> kAscii{" ", ".", ".", ":", "-", "=", "+", "*", "#"};
  const auto& levels = page.unicode ? kUnicode : kAscii;
  const std::size_t buckets = series.highest.size();
  const std::size_t columns = std::min(width, buckets);
  std::string result;
  for (std::size_t i = 0; i < columns; ++i) {
    std::uint64_t highest = 0;
    for (std::size_t b = i * buckets / columns; b < (i + 1) * buckets / columns; ++b) {
      highest = std::max(highest, series.highest[b]);
    }
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
  std::string result = coloured(fitted("From " + time_text(report.timeline.start_ns) + " on, " +
                                           duration_text(report.timeline.duration_ns),
                                       page.width),
                                Colour::bold, page) +
                       "\n";
  for (std::size_t i = 0; i < rows_shown(kinds.size(), most); ++i) {
    const TimelineSeries* const series = series_of(report, kinds[i]);
    if (series == nullptr) continue;
    std::string name = memory_text(kinds[i].kind, kinds[i].device);
    name.resize(std::max<std::size_t>(name.size(), 11), ' ');
    std::string peak = "peak " + bytes_text(kinds[i].peak_bytes);
    peak.resize(std::max<std::size_t>(peak.size(), 15), ' ');
    result +=
        "  " + name + peak + "|" +
        curve(*series, kinds[i].peak_bytes, page.width - std::min(kNames, page.width / 2), page) +
        "| " + duration_text(series->bucket_ns * series->highest.size()) + "\n";
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
