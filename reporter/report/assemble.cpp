// Puts the parts of a report together.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/assemble.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "reporter/report/attribution.h"
#include "reporter/report/oom.h"
#include "reporter/report/parts.h"
#include "reporter/report/peaks.h"
#include "reporter/report/report.h"

namespace vramscope {

namespace {

constexpr std::size_t kMaxSizeClass = 64;

SiteTotals totals_of(const TagTotals& tag, std::uint64_t total_ns) {
  return {.live_bytes = tag.live_bytes,
          .live_count = tag.live_count,
          .peak_bytes = tag.peak_bytes,
          .peak_count = tag.peak_count,
          .total_bytes = tag.total_bytes,
          .total_count = tag.total_count,
          .total_ns = total_ns};
}

// What a site's totals of one size class stand for; left out: nothing, the others stand for it.
SiteTotals estimate_of(const SiteTotals& totals, const TagFact& fact, std::uint64_t every) {
  if (fact.sampling == Sampling::left_out) return {};
  const auto size_class =
      static_cast<std::uint8_t>(fact.values[static_cast<std::size_t>(Axis::size_class)]);
  const auto scaled = [&](std::uint64_t taken) { return estimate(taken, size_class, every); };
  return {.live_bytes = scaled(totals.live_bytes),
          .live_count = scaled(totals.live_count),
          .peak_bytes = scaled(totals.peak_bytes),
          .peak_count = scaled(totals.peak_count),
          .total_bytes = scaled(totals.total_bytes),
          .total_count = scaled(totals.total_count),
          .total_ns = scaled(totals.total_ns)};
}

void add(std::optional<SiteTotals>& sum, const SiteTotals& more) {
  if (!sum) sum.emplace();
  *sum += more;
}

template <class Count>
void add_at(std::vector<std::uint64_t>& counts, std::size_t index, Count count) {
  if (count == 0) return;
  counts.resize(std::max(counts.size(), index + 1));
  counts[index] += count;
}

void add_history(Site& site, const TagTotals& totals, const TagFact& fact) {
  site.temporary_count += fact.temporary;
  for (std::size_t i = 0; i < totals.lifetimes.size(); ++i) {
    add_at(site.lifetimes, i, totals.lifetimes[i]);
  }
  for (std::size_t i = 0; i < totals.history.used; ++i) {
    site.live_past.resize(std::max<std::size_t>(site.live_past.size(), totals.history.used));
    site.live_past[i] += totals.history.last[i];
  }
  const std::uint32_t size_class = fact.values[static_cast<std::size_t>(Axis::size_class)];
  add_at(site.sizes, std::min<std::size_t>(size_class, kMaxSizeClass), totals.total_count);
}

// Sites by the recorder's index, then in the report's order.
class SiteList {
 public:
  SiteList(const RecorderFacts& facts, std::uint64_t sample_bytes)
      : facts_(facts),
        sample_bytes_(sample_bytes),
        sites_(std::max<std::size_t>(facts.sites.size(), kLeftOutSite + 1)) {
    sites_[kLeftOutSite].is_left_out = sample_bytes != 0;
  }

  void add_tag(Tag tag, const TagTotals& totals) {
    const TagFact fact = tag < facts_.tags.size() ? facts_.tags[tag] : TagFact{};
    const SiteTotals sum = totals_of(totals, fact.total_ns);
    Site& site = sites_[fact.site < sites_.size() ? fact.site : kUnknownSite];
    site.refused_count += fact.refused_count;
    site.refused_bytes += fact.refused_bytes;
    if (sum.total_count == 0 && sum.live_count == 0 && sum.total_ns == 0) return;
    site.totals += sum;
    add_history(site, totals, fact);
    // The unknown tag belongs to no one kind or device.
    if (tag == 0) return;
    auto part = std::find_if(site.parts.begin(), site.parts.end(), [&](const SitePart& p) {
      return p.kind == fact.place.kind && p.device == fact.place.device;
    });
    if (part == site.parts.end()) {
      part = site.parts.insert(
          part, {.kind = fact.place.kind, .device = fact.place.device, .totals = {}});
    }
    part->totals += sum;
    if (sample_bytes_ == 0) return;
    const SiteTotals more = estimate_of(sum, fact, sample_bytes_);
    add(part->estimate, more);
    add(site.estimate, more);
  }

  // Moves the sites that have totals to `report`, and threads, with the frames that these use, and
  // tells for each tag which site it became (-1: none).
  std::vector<std::int64_t> move_to(Report& report) {
    std::vector<std::uint32_t> order = used();
    for (const std::uint32_t site : order) sites_[site].frames = frames_of(site);
    std::sort(order.begin(), order.end(), [this](std::uint32_t a, std::uint32_t b) {
      return comes_before(sites_[a], sites_[b]);
    });
    std::vector<std::int64_t> indices(sites_.size(), -1);
    for (const std::uint32_t site : order) {
      indices[site] = static_cast<std::int64_t>(report.sites.size());
      report.sites.push_back(std::move(sites_[site]));
    }
    report.threads = make_threads(facts_);
    std::vector<std::uint32_t> numbers(facts_.frames.size(), kNoFrame);
    renumber_frames(report.sites, numbers, report);
    renumber_frames(report.threads, numbers, report);
    return by_tag(indices);
  }

 private:
  [[nodiscard]] std::vector<std::uint32_t> used() const {
    std::vector<std::uint32_t> used;
    for (std::uint32_t i = 0; i < sites_.size(); ++i) {
      const SiteTotals& totals = sites_[i].totals;
      const bool has_totals =
          totals.total_count != 0 || totals.live_count != 0 || totals.total_ns != 0;
      if (has_totals || sites_[i].refused_count != 0) {
        used.push_back(i);
      }
    }
    return used;
  }

  [[nodiscard]] std::vector<std::uint32_t> frames_of(std::uint32_t site) const {
    return site < facts_.sites.size() ? facts_.sites[site].frames : std::vector<std::uint32_t>();
  }

  // Largest at the peak first; the frames, which differ, decide the rest.
  static bool comes_before(const Site& a, const Site& b) {
    const auto& [x, y] = std::tie(a.totals, b.totals);
    return std::tie(y.peak_bytes, y.live_bytes, y.total_bytes, a.frames) <
           std::tie(x.peak_bytes, x.live_bytes, x.total_bytes, b.frames);
  }

  // rows: sites, or threads. numbers: those of frames that the report has already.
  template <class Row>
  void renumber_frames(std::vector<Row>& rows, std::vector<std::uint32_t>& numbers,
                       Report& report) const {
    for (Row& row : rows) {
      for (std::uint32_t& frame : row.frames) {
        if (numbers[frame] == kNoFrame) {
          numbers[frame] = static_cast<std::uint32_t>(report.frames.size());
          report.frames.push_back(facts_.frames[frame]);
        }
        frame = numbers[frame];
      }
    }
  }

  [[nodiscard]] std::vector<std::int64_t> by_tag(const std::vector<std::int64_t>& sites) const {
    std::vector<std::int64_t> indices(facts_.tags.size(), -1);
    for (std::size_t tag = 1; tag < indices.size(); ++tag) {
      const std::uint32_t site = facts_.tags[tag].site;
      if (site < sites.size()) indices[tag] = sites[site];
    }
    return indices;
  }

  static constexpr std::uint32_t kNoFrame = 0xffffffffU;
  const RecorderFacts& facts_;
  const std::uint64_t sample_bytes_;
  std::vector<Site> sites_;
};

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

Report assemble(ReportParts parts) {
  Report report;
  report.tool_version = VRAMSCOPE_VERSION;
  report.tool_commit = std::move(parts.commit);
  report.trigger = std::move(parts.trigger);
  report.sequence = parts.sequence;
  report.process = std::move(parts.process);
  std::sort(report.process.options.begin(), report.process.options.end());

  SiteList sites(parts.recorder, parts.sample_bytes);
  // A tag may have failed each time that it asked: the allocator has not heard of it then.
  const std::size_t tags = std::max(parts.memory.tags.size(), parts.recorder.tags.size());
  for (std::size_t tag = 0; tag < tags; ++tag) {
    const bool is_known = tag < parts.memory.tags.size();
    sites.add_tag(static_cast<Tag>(tag), is_known ? parts.memory.tags[tag] : TagTotals{});
  }
  const std::vector<std::int64_t> site_of_tag = sites.move_to(report);

  Devices devices = describe_devices(parts);
  report.host.statistics = parts.memory.host;
  report.host.used = parts.memory.host_used;
  report.host.timing = parts.recorder.host;
  for (const SegmentSnapshot& segment : parts.memory.segments) {
    list_for(segment.place.kind, segment.place.device, devices, report.host)
        .push_back(describe_segment(segment, parts.memory, site_of_tag));
  }
  for (auto& [index, device] : devices) report.devices.push_back(std::move(device));

  report.kinds = make_kinds(parts, site_of_tag);
  report.joint_peaks = make_joint_peaks(parts, site_of_tag);
  report.axes = make_axes(parts);
  report.ledger = make_ledger(parts, report.axes);
  report.timeline = make_timeline(parts);
  add_ages(parts, site_of_tag, report.sites);
  report.trace = std::move(parts.trace);
  report.oom = std::move(parts.oom);
  number_sites(report.oom, site_of_tag);
  report.range_marks = parts.recorder.range_marks;
  for (MarkFact& mark : parts.recorder.marks) {
    const std::uint64_t start_ns = start_of(parts.memory);
    report.marks.push_back({.time_ns = mark.clock_ns - std::min(mark.clock_ns, start_ns),
                            .name = std::move(mark.name)});
  }
  report.functions = called_functions(parts);
  report.modules = std::move(parts.recorder.modules);
  report.sources = std::move(parts.recorder.sources);
  report.codes = std::move(parts.recorder.codes);
  report.cupti = std::move(parts.cupti);
  report.sample_bytes = parts.sample_bytes;
  report.dropped_stacks = parts.recorder.dropped_stacks;
  report.unrecorded_calls = parts.recorder.unrecorded_calls;
  report.warnings = std::move(parts.recorder.warnings);
  return report;
}

}  // namespace vramscope
