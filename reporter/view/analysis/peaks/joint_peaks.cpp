// Adds all kinds of a device's memory up.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/peaks/joint_peaks.h"

#include <algorithm>
#include <string>

#include "reporter/report/report.h"

namespace vramscope {

TraceTag& JointPeaks::touch(const TraceBlock& block) {
  const auto [entry, is_new] = tags_.try_emplace({block.tag, place_of(block.place)});
  TraceTag& tag = entry->second;
  if (is_new) {
    OfDevice& device = devices_[block.place.device];
    device.kinds.insert(block.place.kind);
    tag.kind = &device.all;
  }
  catch_up(tag, tag.kind->peak_number);
  return tag;
}

void JointPeaks::came(const TraceBlock& block, const FollowedEvent& now) {
  if (!block.passes || !takes_device_memory(block.place.kind)) return;
  TraceTag& tag = touch(block);
  gain(tag.held, block.bytes);
  gain(*tag.kind, block.bytes, now.one.event);
}

void JointPeaks::went(const TraceBlock& block, const FollowedEvent&, TraceMemory::End) {
  if (!block.passes || !takes_device_memory(block.place.kind)) return;
  TraceTag& tag = touch(block);
  lose(tag.held, block.bytes);
  lose(tag.kind->held, block.bytes);
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
