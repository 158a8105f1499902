// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/peaks.h"

#include <algorithm>
#include <map>
#include <utility>

#include "reporter/report/attribution.h"

namespace vramscope {
namespace {

KindFacts kind_facts(const ReportParts& parts, const KindTotals& totals,
                     const std::vector<std::int64_t>& site_of_tag) {
  KindFacts facts{.kind = totals.kind,
                  .device = totals.device,
                  .current_bytes = totals.current_bytes,
                  .peak_bytes = totals.peak_bytes,
                  .peak_ns = totals.peak_ns - std::min(totals.peak_ns, parts.memory.start_ns),
                  .allocations = totals.allocations,
                  .frees = totals.frees};
  if (totals.peak_tag < site_of_tag.size()) facts.peak_site = site_of_tag[totals.peak_tag];
  if (totals.peak_tag != 0 && totals.peak_tag < parts.recorder.tags.size()) {
    facts.peak_thread = value_of_tag(parts, Axis::thread, totals.peak_tag);
    facts.peak_range = value_of_tag(parts, Axis::range, totals.peak_tag);
  }
  return facts;
}

}  // namespace

std::vector<KindFacts> make_kinds(const ReportParts& parts,
                                  const std::vector<std::int64_t>& site_of_tag) {
  std::vector<KindFacts> kinds;
  for (const KindTotals& totals : parts.memory.kinds) {
    kinds.push_back(kind_facts(parts, totals, site_of_tag));
  }
  return kinds;
}

// A tag has one kind and device, except tag 0: what it held is listed under the first of them.
std::vector<JointPeak> make_joint_peaks(const ReportParts& parts,
                                        const std::vector<std::int64_t>& site_of_tag) {
  const Snapshot& memory = parts.memory;
  std::vector<JointPeak> peaks;
  for (const KindTotals& totals : memory.joint_peaks) {
    std::map<std::pair<std::int64_t, Kind>, OomShare> shares;
    for (std::size_t tag = 0; tag < memory.tags.size(); ++tag) {
      const TagTotals held = memory.tags[tag];
      if (held.joint_bytes == 0 && held.joint_count == 0) continue;
      const bool is_known = tag != 0 && tag < parts.recorder.tags.size();
      const Place place = is_known ? parts.recorder.tags[tag].place : Place{};
      if (place.device != totals.device) continue;
      const std::int64_t site = tag < site_of_tag.size() ? site_of_tag[tag] : -1;
      OomShare& share = shares.try_emplace({site, place.kind}).first->second;
      share.site = site;
      share.kind = place.kind;
      share.live_bytes += held.joint_bytes;
      share.live_count += held.joint_count;
    }
    JointPeak& joint = peaks.emplace_back();
    joint.facts = kind_facts(parts, totals, site_of_tag);
    for (const auto& [key, share] : shares) joint.shares.push_back(share);
    std::stable_sort(
        joint.shares.begin(), joint.shares.end(),
        [](const OomShare& a, const OomShare& b) { return a.live_bytes > b.live_bytes; });
  }
  return peaks;
}

}  // namespace vramscope
