// How memory went over time, as JSON and as CSV.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "reporter/view/listing/site_columns.h"
#include "reporter/view/text/timeline_text.h"

namespace vramscope {
namespace {

template <class Row>
std::string kind_name(const Row& row) {
  return row.is_of_all_kinds ? "all" : std::string(kKindNames[static_cast<std::size_t>(row.kind)]);
}
template <class Row>
Column<Row> kind_or_all(const std::string& meaning) {
  return {"kind", "kind of memory, as in reports; " + meaning, kind_name<Row>,
          OfType("kind_or_all")};
}

std::uint64_t begin_of(const RunCurve& curve, std::size_t bucket) {
  return curve.first_ns + bucket * curve.bucket_ns;
}

constexpr std::string_view kMarkNames[] = {"peak", "refused", "reset", "ended"};

}  // namespace

Columns<RunCurve> curve_columns() {
  using Row = RunCurve;
  const auto peak = [](const Row& row) -> std::optional<std::uint64_t> {
    if (row.is_snapshot) return std::nullopt;
    const auto highest = std::max_element(row.highest.begin(), row.highest.end());
    return highest == row.highest.end() ? 0 : std::max(*highest, row.most_bytes);
  };
  return {
      kind_or_all<Row>(
          "`all`: sum of all kinds that take memory of the device; in a report, an upper bound"),
      device_column<Row>(&Row::device),
      {"peak_bytes",
       "highest value of all buckets; for several processes together, an upper bound of it; "
       "`null`: a "
       "snapshot without history, of which the only bucket tells what was live",
       peak},
      {"first_ns", "when the first bucket begins", &Row::first_ns},
      {"bucket_ns", "length of a bucket", &Row::bucket_ns}};
}

Columns<RunBucket> bucket_columns() {
  using Row = RunBucket;
  const auto last = [](const Row& row) {
    const std::vector<std::uint64_t>& all = row.curve->last;
    return row.number < all.size() ? std::optional(all[row.number]) : std::nullopt;
  };
  return {{"kind", "", [](const Row& row) { return kind_name(*row.curve); }},
          {"device", "", [](const Row& row) { return row.curve->device; }},
          {"from_ns", "", [](const Row& row) { return begin_of(*row.curve, row.number); }},
          {"to_ns", "", &Row::end_ns},
          {"highest_bytes", "", [](const Row& row) { return row.curve->highest[row.number]; }},
          {"last_bytes", "", last}};
}

void add_timeline_csv(CsvText& csv, const RunTimeline& timeline, const RowChoice& choice) {
  std::vector<RunBucket> buckets;
  for (const RunCurve& curve : timeline.curves) {
    for (std::size_t i = 0; i < curve.highest.size(); ++i) {
      const std::uint64_t run_end_ns = std::max(timeline.length_ns, begin_of(curve, i) + 1);
      buckets.push_back({&curve, i, std::min(begin_of(curve, i + 1), run_end_ns)});
    }
  }
  const Columns<RunBucket> columns = bucket_columns();
  arrange(buckets, columns, choice);
  add_rows(csv, buckets, columns, choice.most);
}

namespace {

Columns<RunMark> mark_columns() {
  using Row = RunMark;
  return {
      {"what",
       "`peak`: a peak; `refused`: an allocation that failed; `reset`: in a trace, the end of a "
       "context with its memory; `ended`: among several processes, one was killed or died",
       &Row::what, OneOf(kMarkNames)},
      {"at_ns", "when", &Row::at_ns},
      {"until_ns",
       "for a peak of several processes together: the peak lies between `at_ns` and this; `null`: "
       "it lies at `at_ns`",
       [](const Row& row) { return if_not_zero(row.until_ns); }},
      {"process_ns",
       "for an event of one of several processes: time after that process's own start; `null`: not "
       "an event of one process",
       &Row::process_ns},
      kind_or_all<Row>("in a trace also `all`, as in `series`"),
      device_column<Row>(&Row::device),
      {"bytes",
       "bytes of the peak (perhaps a bound, see `is_bound`), or bytes requested; 0: "
       "unknown",
       &Row::bytes},
      {"is_bound", "`bytes` is an upper bound of the peak", &Row::is_bound},
      {"text",
       "for `reset`, the function; for several processes, which one was refused memory, or which "
       "one ended and how",
       &Row::text}};
}

Columns<RunRange> range_columns() {
  using Span = std::pair<std::uint64_t, std::uint64_t>;
  const Columns<Span> spans{{"from_ns", "first allocation", &Span::first},
                            {"to_ns", "last allocation", &Span::second}};
  return {{"name", "of the range", &RunRange::name},
          {"spans", "spans of the range with allocations", spans, &RunRange::spans}};
}

}  // namespace

Columns<RunTimeline> timeline_fields(std::size_t most) {
  using All = RunTimeline;
  Columns<RunCurve> curve = curve_columns();
  append(curve, {{"highest_bytes", "requested bytes, the most in each bucket", &RunCurve::highest},
                 {"last_bytes", "requested bytes at the end of each bucket", &RunCurve::last}});
  return {
      {"start_ns", "of the run, since 1970", &All::start_ns},
      {"duration_ns", "length of the run", &All::length_ns},
      {"from_ns",
       "start of the window; like all times below, counted from time 0, when recording began",
       &All::from_ns},
      {"to_ns", "end of the window", &All::to_ns},
      {"from_trace", "made of a trace: exact", &All::is_of_trace},
      {"series",
       "one curve for each kind and device, the highest first; a device with several kinds also "
       "has a curve of their sum",
       curve, [most](const All& all) { return first_rows(all.curves, most); }},
      {"marks", "by time", mark_columns(), &All::marks},
      {"named", "marks that the program set (NVTX, vramscope.h), by time; the first 512 of a run",
       Columns<NamedInstant>{{"at_ns", "when", &NamedInstant::time_ns},
                             {"name", "`domain:name`", &NamedInstant::name}},
       &All::named},
      {"unnamed_marks", "number of marks whose name and time were not kept", &All::unnamed_marks},
      {"ranges", "NVTX ranges, of a trace", range_columns(), &All::ranges}};
}

std::string timeline_json(const RunTimeline& timeline, std::size_t most) {
  return json_of(timeline, timeline_fields(most));
}

}  // namespace vramscope
