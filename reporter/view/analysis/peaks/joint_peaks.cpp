// Adds all kinds of a device's memory up.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/peaks/joint_peaks.h"

#include <algorithm>
#include <string>

#include "reporter/report/report.h"

namespace vramscope {

void JointPeaks::came(const TraceBlock& block, const FollowedEvent& now) {
  if (!block.passes || !takes_device_memory(block.place.kind)) return;
  auto& [all, kinds] = devices_[block.place.device];
  TraceTag& tag = tags_[{block.tag, place_of(block.place)}];
  catch_up(tag, all.peak_number);
  kinds.insert(block.place.kind);
  gain(tag.held, block.bytes);
  gain(all, block.bytes, now.one.event);
}

void JointPeaks::went(const TraceBlock& block, const FollowedEvent&, TraceMemory::End) {
  if (!block.passes || !takes_device_memory(block.place.kind)) return;
  TraceKind& all = devices_[block.place.device].all;
  TraceTag& tag = tags_[{block.tag, place_of(block.place)}];
  catch_up(tag, all.peak_number);
  lose(tag.held, block.bytes);
  lose(all.held, block.bytes);
}

std::vector<KindTotals> JointPeaks::totals() const {
  std::vector<KindTotals> rows;
  for (const auto& [index, device] : devices_) {
    if (device.kinds.size() < 2) continue;
    rows.push_back({.kind = Kind::device,
                    .device = index,
                    .current_bytes = device.all.held.live_bytes,
                    .peak_bytes = device.all.held.peak_bytes,
                    .peak_ns = device.all.peak_ns,
                    .peak_tag = device.all.peak_tag});
  }
  return rows;
}

std::vector<OomShare> JointPeaks::shares(std::uint16_t device,
                                         const std::vector<std::int64_t>& sites) const {
  const auto found = devices_.find(device);
  std::map<std::pair<std::int64_t, Kind>, OomShare> by_site;
  for (const auto& [key, held] : tags_) {
    const auto [tag, where] = key;
    if (found == devices_.end() || where.second != device) continue;
    TraceTag then = held;
    catch_up(then, found->second.all.peak_number);
    if (then.held.peak_bytes == 0) continue;
    const std::int64_t site = tag < sites.size() ? sites[tag] : -1;
    OomShare& share = by_site[{site, where.first}];
    share = {.site = site,
             .kind = where.first,
             .live_bytes = share.live_bytes + then.held.peak_bytes,
             .live_count = share.live_count + then.held.peak_count};
  }
  std::vector<OomShare> rows;
  for (const auto& [key, share] : by_site) rows.push_back(share);
  std::stable_sort(rows.begin(), rows.end(), [](const OomShare& a, const OomShare& b) {
    return a.live_bytes > b.live_bytes;
  });
  return rows;
}

}  // namespace vramscope
