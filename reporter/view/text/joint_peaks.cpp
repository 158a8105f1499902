// Adds all kinds of a device's memory up.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/joint_peaks.h"

#include <algorithm>

namespace vramscope {

// What it held at the present peak is put aside before its first change after that.
void JointPeaks::catch_up(OfTag& tag, const OfDevice& device) {
  if (tag.peak_number == device.peak_number) return;
  tag.peak_number = device.peak_number;
  tag.then = tag.live;
  tag.count_then = tag.count;
}

void JointPeaks::came(const TraceBlock& block, const Event& event) {
  if (!takes_device_memory(block.place.kind)) return;
  OfDevice& device = devices_[block.place.device];
  OfTag& tag = tags_[{block.tag, place_of(block.place)}];
  catch_up(tag, device);
  device.kinds.insert(block.place.kind);
  tag.live += block.bytes;
  ++tag.count;
  device.live += block.bytes;
  if (device.live <= device.peak) return;
  device.peak = device.live;
  device.peak_ns = event.start_ns;
  device.peak_tag = event.tag;
  ++device.peak_number;
}

void JointPeaks::went(const TraceBlock& block) {
  if (!takes_device_memory(block.place.kind)) return;
  OfDevice& device = devices_[block.place.device];
  OfTag& tag = tags_[{block.tag, place_of(block.place)}];
  catch_up(tag, device);
  tag.live -= block.bytes;
  --tag.count;
  device.live -= block.bytes;
}

std::vector<KindTotals> JointPeaks::totals() const {
  std::vector<KindTotals> rows;
  for (const auto& [index, device] : devices_) {
    if (device.kinds.size() < 2) continue;
    rows.push_back({.kind = Kind::device,
                    .device = index,
                    .current_bytes = device.live,
                    .peak_bytes = device.peak,
                    .peak_ns = device.peak_ns,
                    .peak_tag = device.peak_tag});
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
    OfTag then = held;
    catch_up(then, found->second);
    if (then.then == 0) continue;
    const std::int64_t site = tag < sites.size() ? sites[tag] : -1;
    OomShare& share = by_site[{site, where.first}];
    share = {.site = site,
             .kind = where.first,
             .live_bytes = share.live_bytes + then.then,
             .live_count = share.live_count + then.count_then};
  }
  std::vector<OomShare> rows;
  for (const auto& [key, share] : by_site) rows.push_back(share);
  std::stable_sort(rows.begin(), rows.end(), [](const OomShare& a, const OomShare& b) {
    return a.live_bytes > b.live_bytes;
  });
  return rows;
}

}  // namespace vramscope
