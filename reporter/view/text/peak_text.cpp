// The peak explained, and how the bytes went over time.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <vector>

#include "reporter/record/axes.h"
#include "reporter/view/text/attribution_text.h"
#include "reporter/view/text/digest.h"
#include "reporter/view/text/json_text.h"

namespace vramscope {
namespace {

constexpr std::size_t kFramesShown = 3;
constexpr std::size_t kFramesInJson = 16;
constexpr std::size_t kValuesShown = 3;  // of an axis

// Kinds that hold memory, the highest peak first.
std::vector<KindFacts> kinds_of(const Report& report) {
  std::vector<KindFacts> kinds;
  for (const KindFacts& kind : report.kinds) {
    if (holds_memory(kind.kind) && kind.peak_bytes != 0) kinds.push_back(kind);
  }
  std::stable_sort(kinds.begin(), kinds.end(), [](const KindFacts& a, const KindFacts& b) {
    return a.peak_bytes > b.peak_bytes;
  });
  return kinds;
}

std::vector<Share> shares_of(const Report& report, const KindFacts& kind) {
  std::vector<Share> shares = shares_of_peak(report);
  std::erase_if(shares, [&](const Share& share) {
    return share.kind != kind.kind || share.device != kind.device || share.bytes == 0;
  });
  return shares;
}

std::vector<AxisEntry> values_of(const Report& report, const KindFacts& kind, Axis axis) {
  std::vector<AxisEntry> values;
  for (const AxisEntry& entry : report.axes) {
    const bool counts = entry.axis == axis && entry.kind == kind.kind &&
                        entry.device == kind.device && entry.totals.peak_bytes != 0;
    if (counts) values.push_back(entry);
  }
  std::stable_sort(values.begin(), values.end(), [](const AxisEntry& a, const AxisEntry& b) {
    return a.totals.peak_bytes > b.totals.peak_bytes;
  });
  return values;
}

// "owners   PyTorch 80 %, NCCL 20 %"; "" when an axis tells nothing apart.
std::string axis_line(const Report& report, const KindFacts& kind, Axis axis, const char* title,
                      const Page& page) {
  const std::vector<AxisEntry> values = values_of(report, kind, axis);
  const bool says_nothing = values.empty() || (values.size() == 1 && values[0].value == "none");
  if (says_nothing) return "";
  std::string result;
  for (std::size_t i = 0; i < std::min(kValuesShown, values.size()); ++i) {
    if (i != 0) result += ", ";
    result += printable(values[i].value, page) + " " +
              percent_text(values[i].totals.peak_bytes, kind.peak_bytes);
  }
  if (values.size() > kValuesShown) {
    result += ", " + std::to_string(values.size() - kValuesShown) + " more";
  }
  return fitted("  " + std::string(title) + result, page.width) + "\n";
}

std::string who_made_it(const Report& report, const KindFacts& kind, const NameFrame& name,
                        const Page& page) {
  std::string result = "reached after " + duration_text(kind.peak_ns);
  if (!kind.peak_thread.empty()) result += " by thread " + printable(kind.peak_thread, page);
  if (!kind.peak_range.empty() && kind.peak_range != "none") {
    result += " in " + printable(kind.peak_range, page);
  }
  result = fitted("  " + result, page.width) + "\n";
  if (kind.peak_site < 0) return result;
  const Site& site = report.sites[static_cast<std::size_t>(kind.peak_site)];
  const std::string where = printable(text(call_site(report, site, name, kFramesShown)), page);
  return result + fitted("  by the allocation of " + where, page.width) + "\n";
}

std::string kind_text_of(const Report& report, const KindFacts& kind, const NameFrame& name,
                         const Page& page, std::size_t most) {
  using enum Table::Align;
  const std::string title = memory_text(kind.kind, kind.device) + ": peak " +
                            bytes_text(kind.peak_bytes) + ", now " + bytes_text(kind.current_bytes);
  std::string result = coloured(fitted(title, page.width), Colour::bold, page) + "\n";
  result += who_made_it(report, kind, name, page);
  result += axis_line(report, kind, Axis::owner, "owners   ", page);
  result += axis_line(report, kind, Axis::thread, "threads  ", page);
  result += axis_line(report, kind, Axis::stream, "streams  ", page);
  result += axis_line(report, kind, Axis::range, "ranges   ", page);
  const std::vector<Share> shares = shares_of(report, kind);
  Table table({{"BYTES", right}, {"SHARE", right}, {"COUNT", right}, {"LIVE THEN", left}});
  std::string written;  // last
  const std::size_t shown = rows_shown(shares.size(), most);
  for (std::size_t i = 0; i < shown; ++i) {
    const CallSite site = call_site(report, report.sites[shares[i].site], name, kFramesShown);
    table.add({bytes_text(shares[i].bytes), percent_text(shares[i].bytes, kind.peak_bytes),
               count_text(static_cast<std::int64_t>(shares[i].count)),
               printable(text(site), page)});
    add_source_line(table, site, page, written);
  }
  if (!table.empty()) result += table.text(page);
  if (const std::string note = sampling_text(report); !note.empty()) {
    result += "  " + note + "; the rest is exact\n";
  }
  if (shown < shares.size()) {
    result += "  and " + std::to_string(shares.size() - shown) + " more\n";
  }
  return result;
}

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

std::string peak_text(const Report& report, const NameFrame& name, const Page& page,
                      std::size_t most) {
  std::string result;
  for (const KindFacts& kind : kinds_of(report)) {
    if (!result.empty()) result += "\n";
    result += kind_text_of(report, kind, name, page, most);
  }
  return result.empty() ? "Nothing was allocated.\n" : result;
}

std::string peak_json(const Report& report, const NameFrame& name, std::size_t most) {
  JsonText json;
  json.array();
  for (const KindFacts& kind : kinds_of(report)) {
    json.object().field("kind", kKindNames[static_cast<std::size_t>(kind.kind)]);
    json.field("device", kind.device).field("peak_bytes", kind.peak_bytes);
    json.field("current_bytes", kind.current_bytes).field("peak_ns", kind.peak_ns);
    json.field("thread", kind.peak_thread).field("range", kind.peak_range).key("site");
    (kind.peak_site < 0 ? json.null() : json.value(kind.peak_site)).key("live").array();
    const std::vector<Share> shares = shares_of(report, kind);
    for (std::size_t i = 0; i < rows_shown(shares.size(), most); ++i) {
      const CallSite site = call_site(report, report.sites[shares[i].site], name, kFramesInJson);
      json.object().field("site", shares[i].site).field("bytes", shares[i].bytes);
      json.field("count", shares[i].count).field("called", site.entry).key("frames").array();
      for (const Caller& caller : site.callers) json.value(text(caller));
      json.end().end();
    }
    json.end();
    for (std::size_t axis = 0; axis < kAxes; ++axis) {
      json.key(kAxisNames[axis]).object();
      for (const AxisEntry& entry : values_of(report, kind, static_cast<Axis>(axis))) {
        json.field(entry.value, entry.totals.peak_bytes);
      }
      json.end();
    }
    json.end();
  }
  return json.end().text();
}

std::string timeline_text(const Report& report, const Page& page, std::size_t most) {
  constexpr std::size_t kNames = 40;  // columns beside the curve
  const std::vector<KindFacts> kinds = kinds_of(report);
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
