// Numbers of sites, as the report's file has them.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/stacks/site_numbers.h"

#include "reporter/report/report.h"

namespace vramscope {
namespace {

using Places = std::vector<std::int64_t>;

void renumber(std::int64_t& site, const Places& places) {
  if (site >= 0) site = places[static_cast<std::size_t>(site)];
}

void renumber(std::vector<SegmentFacts>& segments, const Places& places) {
  for (SegmentFacts& segment : segments) {
    for (BlockFacts& block : segment.blocks) renumber(block.site, places);
  }
}

}  // namespace

std::int64_t site_number(const Report& report, std::size_t index) {
  const Site& site = report.sites[index];
  return site.numbers.empty() ? static_cast<std::int64_t>(index) : site.numbers.front();
}

void keep_site_numbers(Report& report) {
  for (std::size_t i = 0; i < report.sites.size(); ++i) {
    Site& site = report.sites[i];
    if (site.numbers.empty()) site.numbers = {static_cast<std::uint32_t>(i)};
  }
}

void renumber_sites(Report& report, const Places& places) {
  for (DeviceReport& device : report.devices) renumber(device.segments, places);
  renumber(report.host.segments, places);
  renumber(report.host.registrations, places);
  for (KindFacts& kind : report.kinds) renumber(kind.peak_site, places);
  for (JointPeak& joint : report.joint_peaks) {
    renumber(joint.facts.peak_site, places);
    for (OomShare& share : joint.shares) renumber(share.site, places);
  }
  for (MergedProcess& process : report.processes) {
    std::erase_if(process.live, [&](LiveShare& share) {
      const bool had_site = share.site >= 0;
      renumber(share.site, places);
      return had_site && share.site < 0;  // -1 is the rest
    });
  }
  for (OomEvent& event : report.oom.events) {
    renumber(event.site, places);
    renumber(event.served_site, places);
    for (auto& share : event.shares) renumber(share.site, places);
    for (auto& pin : event.pins) renumber(pin.site, places);
  }
}

}  // namespace vramscope
