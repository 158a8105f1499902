// Puts the parts of a report together.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/assemble.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "reporter/report/assembled_sites.h"
#include "reporter/report/attribution.h"
#include "reporter/report/oom.h"
#include "reporter/report/parts.h"
#include "reporter/report/peaks.h"
#include "reporter/report/report.h"

namespace vramscope {

namespace {

using Devices = std::map<std::uint16_t, DeviceReport>;

DeviceReport& device_at(Devices& devices, std::uint16_t index) {
  DeviceReport& device = devices[index];
  device.facts.index = index;
  return device;
}

Devices describe_devices(const ReportParts& parts) {
  Devices devices;
  for (const DeviceFacts& facts : parts.devices) {
    DeviceReport& device = devices[facts.index];
    device.facts = facts;
  }
  for (const DeviceSnapshot& snapshot : parts.memory.devices) {
    DeviceReport& device = device_at(devices, snapshot.device);
    device.statistics = snapshot.statistics;
    device.used = true;
  }
  for (const auto& [index, timing] : parts.recorder.devices) {
    device_at(devices, index).timing = timing;
  }
  return devices;
}

std::int64_t born_of(const BlockSnapshot& block, const Snapshot& memory) {
  if (block.state != BlockState::active_allocated || block.born_ns == 0) return -1;
  return static_cast<std::int64_t>(block.born_ns - std::min(memory.start_ns, block.born_ns));
}

SegmentFacts describe_segment(const SegmentSnapshot& segment, const Snapshot& memory,
                              const std::vector<std::int64_t>& site_of_tag) {
  SegmentFacts facts{.kind = segment.place.kind,
                     .device = segment.place.device,
                     .context = segment.place.context,
                     .address = segment.address,
                     .total_size = segment.total_size,
                     .allocated_size = segment.allocated_size,
                     .active_size = segment.active_size,
                     .requested_size = segment.requested_size,
                     .is_small = segment.is_small,
                     .is_expandable = segment.is_expandable,
                     .is_direct = segment.is_direct,
                     .is_dedicated = segment.is_dedicated,
                     .is_exported = segment.is_exported,
                     .blocks = {}};
  facts.blocks.reserve(segment.block_count);
  for (std::uint32_t i = 0; i < segment.block_count; ++i) {
    const BlockSnapshot& block = memory.blocks[segment.first_block + i];
    const bool known = block.state != BlockState::inactive && block.tag < site_of_tag.size();
    facts.blocks.push_back({.address = block.address,
                            .size = block.size,
                            .requested_size = block.requested_size,
                            .state = block.state,
                            .site = known ? site_of_tag[block.tag] : -1,
                            .born_ns = born_of(block, memory)});
  }
  return facts;
}

std::vector<SegmentFacts>& list_for(Kind kind, std::uint16_t device, Devices& devices,
                                    HostReport& host) {
  if (!is_host(kind)) return device_at(devices, device).segments;
  return kind == Kind::pinned ? host.segments : host.registrations;
}

std::vector<FunctionFacts> called_functions(const ReportParts& parts) {
  std::vector<FunctionFacts> called;
  const auto& totals = parts.recorder.functions;
  for (std::size_t i = 0; i < std::min(totals.size(), parts.function_names.size()); ++i) {
    if (totals[i].calls != 0) called.push_back({parts.function_names[i], totals[i]});
  }
  return called;
}

}  // namespace

Assembly::Assembly(ReportParts parts)
    : parts_(std::make_unique<ReportParts>(std::move(parts))), sites_(*parts_) {
  report_.threads = make_threads(parts_->recorder);
  sites_.move_frames_to(report_);
  describe_memory();
  describe_rest();
}

void Assembly::describe_memory() {
  const ReportParts& parts = *parts_;
  const std::vector<std::int64_t>& site_of_tag = sites_.by_tag();
  Devices devices = describe_devices(parts);
  report_.host.statistics = parts.memory.host;
  report_.host.used = parts.memory.host_used;
  report_.host.timing = parts.recorder.host;
  for (const SegmentSnapshot& segment : parts.memory.segments) {
    list_for(segment.place.kind, segment.place.device, devices, report_.host)
        .push_back(describe_segment(segment, parts.memory, site_of_tag));
  }
  for (auto& [index, device] : devices) report_.devices.push_back(std::move(device));

  report_.kinds = make_kinds(parts, site_of_tag);
  report_.joint_peaks = make_joint_peaks(parts, site_of_tag);
  report_.axes = make_axes(parts);
  report_.ledger = make_ledger(parts, report_.axes);
  report_.timeline = make_timeline(parts);
}

// Moves what the sites do not need.
void Assembly::describe_rest() {
  ReportParts& parts = *parts_;
  report_.tool_version = VRAMSCOPE_VERSION;
  report_.tool_commit = std::move(parts.commit);
  report_.trigger = std::move(parts.trigger);
  report_.sequence = parts.sequence;
  report_.process = std::move(parts.process);
  std::sort(report_.process.options.begin(), report_.process.options.end());
  report_.trace = std::move(parts.trace);
  report_.oom = std::move(parts.oom);
  number_sites(report_.oom, sites_.by_tag());
  report_.range_marks = parts.recorder.range_marks;
  const std::uint64_t start_ns = start_of(parts.memory);
  for (MarkFact& mark : parts.recorder.marks) {
    report_.marks.push_back({.time_ns = mark.clock_ns - std::min(mark.clock_ns, start_ns),
                             .name = std::move(mark.name)});
  }
  report_.functions = called_functions(parts);
  report_.modules = std::move(parts.recorder.modules);
  report_.sources = std::move(parts.recorder.sources);
  report_.codes = std::move(parts.recorder.codes);
  report_.named_memory = std::move(parts.named_memory);
  report_.cupti = std::move(parts.cupti);
  report_.sample_bytes = parts.sample_bytes;
  report_.dropped_stacks = parts.recorder.dropped_stacks;
  report_.unrecorded_calls = parts.recorder.unrecorded_calls;
  report_.warnings = std::move(parts.recorder.warnings);
}

Report assemble(ReportParts parts) {
  Assembly assembly(std::move(parts));
  Report report = std::move(assembly.report());
  const SiteList& sites = assembly.sites();
  report.sites.reserve(sites.size());
  for (std::size_t i = 0; i < sites.size(); ++i) report.sites.push_back(sites.at(i));
  return report;
}

}  // namespace vramscope
