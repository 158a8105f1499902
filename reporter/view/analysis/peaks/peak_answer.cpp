// Asks once what texts, JSON and CSV say of peaks.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/peaks/peak_answer.h"

#include <algorithm>
#include <set>

#include "reporter/report/gpus.h"
#include "reporter/report/merged_process.h"
#include "reporter/view/analysis/leaks/site_owner.h"
#include "reporter/view/analysis/subject.h"

namespace vramscope {
namespace {

std::vector<Share> shares_of(const std::vector<Share>& all, const KindFacts& kind) {
  std::vector<Share> shares = all;
  std::erase_if(shares, [&](const Share& share) {
    return share.kind != kind.kind || share.device != kind.device || share.bytes == 0;
  });
  return shares;
}

std::vector<Share> shares_of(const JointPeak& joint) {
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
  return shares;
}

// Those that held something at the peak.
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

std::vector<AxisEntry> owners_then(const Report& report, const JointPeak& joint) {
  std::vector<AxisEntry> owners;
  for (const auto& [owner, bytes] : owners_of(report, joint)) {
    AxisEntry& entry = owners.emplace_back();
    entry.value = owner;
    entry.totals.peak_bytes = bytes;
  }
  return owners;
}

AddedPeaks added_peaks(const Report& report, const KindFacts& kind) {
  AddedPeaks added;
  if (!is_of_several(report)) {
    added.processes = 1;
    added.together.peak = {.lower = kind.peak_bytes, .upper = kind.peak_bytes};
    return added;
  }
  const bool is_choice = report.chosen && report.chosen->by_rows;
  if (!is_choice) added.together = sum_of_kind(report, kind.kind, kind.device);
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

// All kinds together of a GPU have its use, or the last of its kinds.
void add_uses(PeakAnswer& answer) {
  for (const PeakUse& use : answer.uses) {
    PeakOfKind* last = nullptr;
    for (auto* const rows : {&answer.kinds, &answer.joint}) {
      for (PeakOfKind& row : *rows) {
        if (has_device(row.kind.kind) && row.kind.device == use.device) last = &row;
      }
    }
    if (last != nullptr) last->use = use.rows;
  }
}

}  // namespace

PeakAnswer peak_answer(const Report& report, const NameFrame& name) {
  PeakAnswer answer{.uses = peak_uses(report, name), .leaked = leaked_of(report, name)};
  const std::vector<Share> shares = shares_of_peak(report);
  for (const KindFacts& kind : kinds_by_peak(report)) {
    PeakOfKind& row = answer.kinds.emplace_back(PeakOfKind{.kind = kind});
    row.live = shares_of(shares, kind);
    for (std::size_t i = 0; i < kAxes; ++i) {
      row.values[i] = values_of(report, kind, static_cast<Axis>(i));
    }
    row.added = added_peaks(report, kind);
  }
  for (const JointPeak& joint : report.joint_peaks) {
    PeakOfKind& row = answer.joint.emplace_back(PeakOfKind{.kind = joint.facts, .joint = &joint});
    row.live = shares_of(joint);
    row.values[static_cast<std::size_t>(Axis::owner)] = owners_then(report, joint);
    row.added = added_peaks(report, joint.facts);
  }
  add_uses(answer);
  return answer;
}

}  // namespace vramscope
