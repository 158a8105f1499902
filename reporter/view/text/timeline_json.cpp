// How memory went over time, as JSON and as CSV.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "reporter/view/listing/site_columns.h"
#include "reporter/view/text/timeline_text.h"

namespace vramscope {

namespace {

std::string kind_name(Kind kind, bool is_of_all_kinds) {
  return is_of_all_kinds ? "all" : std::string(kKindNames[static_cast<std::size_t>(kind)]);
}
CellValue curve_kind(const RunCurve& curve) { return kind_name(curve.kind, curve.is_of_all_kinds); }

}  // namespace

Columns<RunCurve> curve_columns() {
  using Row = RunCurve;
  const auto peak = [](const Row& row) {
    return row.highest.empty() ? 0 : *std::max_element(row.highest.begin(), row.highest.end());
  };
  return {{"kind", curve_kind},
          {"device", [](const Row& row) { return number(row.device); }},
          {"peak_bytes", peak},
          {"first_ns", [](const Row& row) { return row.first_ns; }},
          {"bucket_ns", [](const Row& row) { return row.bucket_ns; }}};
}

Columns<RunBucket> bucket_columns() {
  using Row = RunBucket;
  const auto begin = [](const Row& row, std::size_t number) {
    return row.curve->first_ns + number * row.curve->bucket_ns;
  };
  const auto last = [](const Row& row) {
    const std::vector<std::uint64_t>& all = row.curve->last;
    return row.number < all.size() ? CellValue(all[row.number]) : CellValue();
  };
  return {{"kind", [](const Row& row) { return curve_kind(*row.curve); }},
          {"device", [](const Row& row) { return number(row.curve->device); }},
          {"from_ns", [=](const Row& row) { return begin(row, row.number); }},
          {"to_ns", [=](const Row& row) { return begin(row, row.number + 1); }},
          {"highest_bytes", [](const Row& row) { return row.curve->highest[row.number]; }},
          {"last_bytes", last}};
}

void add_timeline_csv(CsvText& csv, const RunTimeline& timeline, const RowChoice& choice) {
  std::vector<RunBucket> buckets;
  for (const RunCurve& curve : timeline.curves) {
    for (std::size_t i = 0; i < curve.highest.size(); ++i) buckets.push_back({&curve, i});
  }
  const Columns<RunBucket> columns = bucket_columns();
  arrange(buckets, columns, choice);
  add_rows(csv, buckets, columns, choice.most);
}

std::string timeline_json(const RunTimeline& timeline, std::size_t most) {
  constexpr std::array<const char*, 4> kMarkNames{"peak", "refused", "reset", "ended"};
  const Columns<RunCurve> columns = curve_columns();
  JsonText json;
  json.object().field("start_ns", timeline.start_ns).field("duration_ns", timeline.length_ns);
  json.field("from_ns", timeline.from_ns).field("to_ns", timeline.to_ns);
  json.field("from_trace", timeline.is_of_trace).key("series").array();
  const auto numbers = [&](std::string_view key, const std::vector<std::uint64_t>& values) {
    json.key(key).array();
    for (const std::uint64_t value : values) json.value(value);
    json.end();
  };
  for (std::size_t i = 0; i < rows_shown(timeline.curves.size(), most); ++i) {
    const RunCurve& curve = timeline.curves[i];
    add_fields(json.object(), curve, columns);
    numbers("highest_bytes", curve.highest);
    numbers("last_bytes", curve.last);
    json.end();
  }
  json.end().key("marks").array();
  for (const RunMark& mark : timeline.marks) {
    json.object().field("what", kMarkNames[static_cast<std::size_t>(mark.what)]);
    json.field("at_ns", mark.at_ns).key("until_ns");
    mark.until_ns == 0 ? json.null() : json.value(mark.until_ns);
    json.key("process_ns");
    mark.process_ns ? json.value(*mark.process_ns) : json.null();
    json.field("kind", kind_name(mark.kind, mark.is_of_all_kinds));
    json.field("device", mark.device).field("bytes", mark.bytes).field("text", mark.text).end();
  }
  json.end().key("named").array();
  for (const NamedInstant& mark : timeline.named) {
    json.object().field("at_ns", mark.time_ns).field("name", mark.name).end();
  }
  json.end().field("unnamed_marks", timeline.unnamed_marks).key("ranges").array();
  for (const RunRange& range : timeline.ranges) {
    json.object().field("name", range.name).key("spans").array();
    for (const auto& [from, to] : range.spans) {
      json.object().field("from_ns", from).field("to_ns", to).end();
    }
    json.end().end();
  }
  return json.end().end().text();
}

}  // namespace vramscope
