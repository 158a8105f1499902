// Numbers of sites, as the report's file has them.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/stacks/site_numbers.h"

#include <algorithm>
#include <map>
#include <utility>

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

// Makes one of those that are equal by `key` now; rows without a site stay as they are.
template <class Row, class Key, class Add>
void join_equal(std::vector<Row>& rows, const Key& key, const Add& add) {
  std::map<decltype(key(Row())), std::size_t> first;
  std::vector<Row> joined;
  for (Row& row : rows) {
    const auto [known, is_new] = first.try_emplace(key(row), joined.size());
    if (is_new || row.site < 0) {
      joined.push_back(std::move(row));
    } else {
      add(joined[known->second], row);
    }
  }
  rows = std::move(joined);
}

void renumber(std::vector<OomShare>& shares, const Places& places) {
  for (OomShare& share : shares) renumber(share.site, places);
  join_equal(
      shares, [](const OomShare& share) { return std::pair(share.site, share.kind); },
      [](OomShare& sum, const OomShare& more) {
        sum.live_bytes += more.live_bytes;
        sum.live_count += more.live_count;
      });
  std::stable_sort(shares.begin(), shares.end(), [](const OomShare& a, const OomShare& b) {
    return a.live_bytes > b.live_bytes;
  });
}

void renumber(std::vector<OomPin>& pins, const Places& places) {
  for (OomPin& pin : pins) renumber(pin.site, places);
  join_equal(
      pins, [](const OomPin& pin) { return pin.site; },
      [](OomPin& sum, const OomPin& more) {
        sum.segments += more.segments;
        sum.total_size += more.total_size;
        sum.free_bytes += more.free_bytes;
        sum.largest_free_bytes = std::max(sum.largest_free_bytes, more.largest_free_bytes);
        sum.live_bytes += more.live_bytes;
        sum.live_count += more.live_count;
      });
  std::stable_sort(pins.begin(), pins.end(),
                   [](const OomPin& a, const OomPin& b) { return a.free_bytes > b.free_bytes; });
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
    renumber(joint.shares, places);
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
    renumber(event.shares, places);
    renumber(event.pins, places);
  }
}

}  // namespace vramscope
