// Unpacks one process at a time.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/process_store.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "reporter/report/gpus.h"
#include "reporter/report/merge_devices.h"
#include "reporter/report/merge_processes.h"
#include "reporter/report/site_code.h"

namespace vramscope {
namespace {

MergedProcess brief_of(const MergedProcess& process) {
  MergedProcess brief;
  brief.process.hostname = process.process.hostname;
  brief.process.rank = process.process.rank;
  brief.process.pid = process.process.pid;
  brief.process.start_time_ns = process.process.start_time_ns;
  brief.process.simulated = process.process.simulated;
  brief.sequence = process.sequence;
  brief.devices = process.devices;
  brief.timeline.start_ns = process.timeline.start_ns;
  brief.timeline.duration_ns = process.timeline.duration_ns;
  return brief;
}

// By what comes_before() compares first.
auto order_of_brief(const MergedProcess& brief) {
  const ProcessFacts& process = brief.process;
  return std::tie(process.hostname, process.rank, process.pid, process.start_time_ns,
                  brief.sequence);
}

}  // namespace

void renumber_sites(MergedProcess& process,
                    const std::function<std::int64_t(std::size_t site)>& number_of) {
  const auto renumber_one = [&](std::int64_t& site) {
    if (site >= 0) site = number_of(static_cast<std::size_t>(site));
  };
  for (KindFacts& kind : process.kinds) renumber_one(kind.peak_site);
  for (JointPeak& joint : process.joint_peaks) renumber_one(joint.facts.peak_site);
  for (LiveShare& share : process.live) renumber_one(share.site);
  for (OomEvent& event : process.oom.events) {
    renumber_one(event.site);
    renumber_one(event.served_site);
    for (OomShare& share : event.shares) renumber_one(share.site);
    for (OomPin& pin : event.pins) renumber_one(pin.site);
  }
}

void ProcessStore::add(const MergedProcess& process) {
  std::string bytes = encoded(process);
  brief_.push_back(brief_of(process));
  bytes_ += bytes.size();
  if (file_) {
    rows_.push_back({.at = file_->append(bytes), .bytes = bytes.size()});
    return;
  }
  rows_.push_back({.at = packed_.size(), .bytes = bytes.size()});
  bytes.shrink_to_fit();
  packed_.push_back(std::move(bytes));
  if (bytes_ > most_bytes_) put_aside();
}

void ProcessStore::put_aside() {
  file_ = std::make_unique<ScratchFile>();
  for (std::size_t i = 0; i < rows_.size(); ++i) rows_[i].at = file_->append(packed_[i]);
  packed_ = {};
}

void ProcessStore::finish(const std::vector<std::uint32_t>& sites) {
  sites_ = sites;
  if (file_) file_->flush();
  std::vector<std::uint32_t> order(brief_.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    const auto first = order_of_brief(brief_[a]);
    const auto second = order_of_brief(brief_[b]);
    return first == second ? comes_before(at(a), at(b)) : first < second;
  });
  std::vector<MergedProcess> brief;
  std::vector<Row> rows;
  for (const std::uint32_t old : order) {
    brief.push_back(std::move(brief_[old]));
    rows.push_back(rows_[old]);
  }
  brief_ = std::move(brief);
  rows_ = std::move(rows);
}

MergedProcess ProcessStore::at(std::size_t index) const {
  const Row& row = rows_[index];
  MergedProcess process;
  if (file_) {
    std::string bytes(row.bytes, '\0');
    file_->read(row.at, bytes.data(), bytes.size());
    process = decoded_process(bytes);
  } else {
    process = decoded_process(packed_[row.at]);
  }
  DeviceNumbers numbers;
  for (const ProcessDevice& device : brief_[index].devices) {
    numbers[ordinal_of(device)] = device.index;
  }
  renumber(process, numbers);
  process.devices = brief_[index].devices;
  renumber_sites(process, [&](std::size_t site) { return sites_[site]; });
  return process;
}

}  // namespace vramscope
