// What made the peaks as JSON and as CSV.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include "reporter/report/gpus.h"
#include "reporter/report/merged_process.h"
#include "reporter/report/report.h"
#include "reporter/view/analysis/leaks/site_owner.h"
#include "reporter/view/analysis/peaks/joint_peaks.h"
#include "reporter/view/analysis/subject.h"
#include "reporter/view/listing/site_columns.h"
#include "reporter/view/text/own_time.h"
#include "reporter/view/text/peak_text.h"
#include "reporter/view/text/peak_use_text.h"

namespace vramscope {

std::vector<Share> shares_of(const Report& report, const KindFacts& kind, const NameFrame& name,
                             const RowChoice& choice) {
  std::vector<Share> shares = shares_of_peak(report);
  std::erase_if(shares, [&](const Share& share) {
    return share.kind != kind.kind || share.device != kind.device || share.bytes == 0;
  });
  arrange(shares, share_columns(report, name), choice);
  return shares;
}

std::vector<Share> shares_of(const Report& report, const JointPeak& joint, const NameFrame& name,
                             const RowChoice& choice) {
  std::vector<Share> shares;
  for (const OomShare& share : joint.shares) {
    if (share.site < 0) continue;
    shares.push_back({.site = static_cast<std::size_t>(share.site),
                      .kind = share.kind,
                      .device = joint.facts.device,
                      .bytes = share.live_bytes,
                      .count = share.live_count,
                      .whole = joint.facts.peak_bytes});
  }
  arrange(shares, share_columns(report, name), choice);
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

std::vector<AxisEntry> values_of(const Report& report, const JointPeak& joint) {
  std::vector<AxisEntry> owners;
  for (const auto& [owner, bytes] : owners_of(report, joint)) {
    AxisEntry& entry = owners.emplace_back();
    entry.value = owner;
    entry.totals.peak_bytes = bytes;
  }
  return owners;
}

AddedPeaks added_peaks(const Report& report, const KindFacts& kind) {
  AddedPeaks added{.together = sum_of_kind(report, kind.kind, kind.device)};
  const Gpus gpus(report.processes);
  std::set<const Gpu*> devices;
  for (const MergedProcess& process : report.processes) {
    if (!has_kind(process, kind.kind, kind.device)) continue;
    ++added.processes;
    for (const ProcessDevice& device : process.devices) {
      if (device.index == kind.device) devices.insert(&gpus.of(process, device));
    }
  }
  added.devices = has_device(kind.kind) ? devices.size() : 0;
  return added;
}

namespace {

// On the axis requested bytes live then, which of all kinds together only owners are known for.
Column<PeakRow> axis_field(const Report& report, Axis axis, const char* by) {
  const bool has_all = axis == Axis::owner;
  Field field{.name = std::string(kAxisNames[static_cast<std::size_t>(axis)]),
              .doc = std::string("requested bytes live then, by ") + by +
                     (has_all ? "" : "; `null`: of `all`"),
              .type = "numbers",
              .may_be_null = !has_all,
              .unit = "bytes"};
  return {std::move(field), [&report, axis, has_all](JsonText& json, const PeakRow& row) {
            if (row.joint != nullptr && !has_all) {
              json.null();
              return;
            }
            json.object();
            for (const AxisEntry& entry : row.joint != nullptr
                                              ? values_of(report, *row.joint)
                                              : values_of(report, row.kind, axis)) {
              json.field(entry.value, entry.totals.peak_bytes);
            }
            json.end();
          }};
}

// What several processes held together at one time; of a choice of rows nobody knows.
std::optional<std::uint64_t> bound(const Report& report, std::uint64_t bytes) {
  const bool is_choice = report.chosen && report.chosen->by_rows;
  return is_choice && is_of_several(report) ? std::nullopt : std::optional(bytes);
}

Columns<PeakRow> figures_of_peak(const Report& report) {
  using Row = PeakRow;
  const auto of = within(&Row::kind);
  const auto kind = [](const Row& row) {
    return row.joint != nullptr ? "all" : kKindNames[static_cast<std::size_t>(row.kind.kind)];
  };
  const SiteCells cells(report, {});
  return {{"kind",
           "kind of memory, as in reports; `all`, behind all others: all kinds of memory of the "
           "GPU together, of one that had several",
           kind, OfType("kind_or_all")},
          device_column<Row>(of(&KindFacts::device)),
          {"peak_bytes", "requested bytes at the peak", of(&KindFacts::peak_bytes)},
          {"current_bytes", "requested, live at the report", of(&KindFacts::current_bytes)},
          {"peak_ns",
           "of the peak, after time 0, when recording began; of a merged report when it began in "
           "the first process",
           of(&KindFacts::peak_ns)},
          {"process_peak_ns",
           "the same, after recording began in the process that had the highest of the peaks: as "
           "its own report has it",
           [&report](const Row& row) { return own_peak_ns(report, row.kind); }},
          {"processes",
           "whose peaks are added in `peak_bytes`, each at its own time; 1 of a report that was "
           "not merged",
           [](const Row& row) { return row.added.processes; }},
          {"together_lower_bytes",
           "that they held together at one time at least, as far as timelines tell; `null`: not "
           "known of a part of the rows",
           [&report](const Row& row) { return bound(report, row.added.together.peak.lower); }},
          {"together_upper_bytes", "the same, at most",
           [&report](const Row& row) { return bound(report, row.added.together.peak.upper); }},
          {"peak_thread", "that allocated then; empty: unknown", of(&KindFacts::peak_thread)},
          {"peak_range", "NVTX range of that allocation", of(&KindFacts::peak_range)},
          {"peak_site", "site of that allocation; `null`: unknown",
           [cells](const Row& row) { return cells.number(row.kind.peak_site); }}};
}

std::vector<PeakRow> peak_rows_of(const Report& report, const NameFrame& name,
                                  const RowChoice& choice) {
  std::vector<PeakRow> rows;
  const auto add = [&](const KindFacts& kind, const JointPeak* joint, std::vector<Share> live) {
    rows.push_back({.kind = kind, .joint = joint, .live = std::move(live), .added = {}});
    if (is_of_several(report)) {
      rows.back().added = added_peaks(report, kind);
    } else {
      rows.back().added = {
          .processes = 1,
          .together = {.peak = {.lower = kind.peak_bytes, .upper = kind.peak_bytes}}};
    }
  };
  for (const KindFacts& kind : kinds_by_peak(report)) {
    add(kind, nullptr, shares_of(report, kind, name, choice));
  }
  for (const JointPeak& joint : report.joint_peaks) {
    add(joint.facts, &joint, shares_of(report, joint, name, choice));
  }
  for (const PeakUse& use : peak_uses(report, name)) {
    const auto row = std::find_if(rows.rbegin(), rows.rend(), [&](const PeakRow& one) {
      return has_device(one.kind.kind) && one.kind.device == use.device;
    });
    if (row != rows.rend()) row->use = use.rows;
  }
  return rows;
}

}  // namespace

Columns<PeakRow> peak_fields(const Report& report, const NameFrame& name, std::size_t most) {
  Columns<PeakRow> fields = figures_of_peak(report);
  append(fields, {{"live", "what was live then, the largest first", share_columns(report, name),
                   [most](const PeakRow& row) { return first_rows(row.live, most); }},
                  axis_field(report, Axis::owner, "owner"),
                  axis_field(report, Axis::thread, "thread"),
                  axis_field(report, Axis::stream, "stream"),
                  axis_field(report, Axis::range, "range"),
                  axis_field(report, Axis::function, "function of CUDA's driver"),
                  axis_field(report, Axis::size_class, "size class"),
                  {"device_use",
                   "what made the GPU as full as it was, in parts that add up to what nvidia-smi "
                   "counts; in one row of each GPU: `all`, or the one kind that it had; empty "
                   "elsewhere, of several processes, and of what a filter left",
                   peak_use_columns(), &PeakRow::use}});
  return fields;
}

std::string peak_json(const Report& report, const NameFrame& name, const RowChoice& choice) {
  return json_of(peak_rows_of(report, name, choice), peak_fields(report, name, choice.most));
}

void add_peak_csv(CsvText& csv, const Report& report, const NameFrame& name,
                  const RowChoice& choice) {
  const Columns<Share> columns = share_columns(report, name);
  csv.titles(names_of(columns));
  for (const KindFacts& kind : kinds_by_peak(report)) {
    add_rows(csv, shares_of(report, kind, name, choice), columns, choice.most);
  }
}

}  // namespace vramscope
