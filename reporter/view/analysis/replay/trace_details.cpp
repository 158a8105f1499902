// Follows each allocation that passes through a trace, and counts by place and by value.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/replay/trace_details.h"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "allocator/base/snapshot.h"
#include "reporter/report/ages.h"
#include "reporter/report/attribution.h"
#include "reporter/report/parts.h"
#include "reporter/report/peaks.h"
#include "reporter/report/trigger.h"
#include "reporter/view/analysis/filter/filter.h"
#include "reporter/view/analysis/replay/trace_report.h"
#include "reporter/view/analysis/report_figures.h"
#include "reporter/view/analysis/site_growth.h"
#include "reporter/view/analysis/stacks/site_numbers.h"

namespace vramscope {
namespace {

// What each value of each axis holds of one kind on one device. Threads: one.
class AxisPeaks {
 public:
  // Numbers the values of the tags, which a trace does not.
  explicit AxisPeaks(std::vector<TagFact>& tags) : tags_(tags) {
    std::map<std::tuple<std::size_t, std::uint32_t, std::uint64_t>, Group> groups;
    for (TagFact& tag : tags) {
      for (std::size_t axis = 0; axis < kAxes; ++axis) {
        const auto next = static_cast<Group>(groups.size() + 1);
        const std::tuple key{axis, tag.values[axis], tag.place.packed()};
        tag.groups[axis] = groups.try_emplace(key, next).first->second;
      }
    }
    live_.resize(groups.size() + 1);
    peaks.resize(groups.size() + 1);
  }
  void came(Tag tag, std::uint64_t bytes) {
    if (tag >= tags_.size()) return;
    for (const Group group : tags_[tag].groups) {
      live_[group] += bytes;
      peaks[group] = std::max(peaks[group], live_[group]);
    }
  }
  void went(Tag tag, std::uint64_t bytes) {
    if (tag >= tags_.size()) return;
    for (const Group group : tags_[tag].groups) live_[group] -= bytes;
  }

  std::vector<std::uint64_t> peaks = {};  // by group

 private:
  const std::vector<TagFact>& tags_;
  std::vector<std::uint64_t> live_ = {};
};

// What sites held at the ends of the run's intervals: when there are too many, two become one.
// Threads: one.
class SitePasts {
 public:
  explicit SitePasts(std::size_t sites) : live_(sites) {}

  void advance(std::uint64_t allocations) {
    while (allocations / width_ > ends_.size()) {
      if (ends_.size() == kIntervals) {
        for (std::size_t i = 0; i < kIntervals / 2; ++i) ends_[i] = std::move(ends_[2 * i + 1]);
        ends_.resize(kIntervals / 2);
        width_ *= 2;
      } else {
        ends_.push_back(live_);
      }
    }
  }
  void came(std::size_t site, std::uint64_t bytes) { live_[site] += bytes; }
  void went(std::size_t site, std::uint64_t bytes) { live_[site] -= bytes; }

  void put_into(Report& report) const {
    if (!ends_.empty()) report.timeline.past_interval = width_;
    for (std::size_t i = 0; i < report.sites.size(); ++i) {
      for (const auto& end : ends_) report.sites[i].live_past.push_back(end[i]);
    }
  }

 private:
  static constexpr std::size_t kIntervals = 8;
  std::uint64_t width_ = std::uint64_t{1} << History::kFirstWidthBits;  // allocations
  std::vector<std::uint64_t> live_;                                     // by site
  std::vector<std::vector<std::uint64_t>> ends_ = {};
};

// They keep the numbers that they have in the trace.
void leave_out_empty_sites(Report& report) {
  keep_site_numbers(report);
  std::vector<std::int64_t> now(report.sites.size(), -1);
  std::vector<Site> left;
  for (std::size_t i = 0; i < report.sites.size(); ++i) {
    const SiteTotals& totals = report.sites[i].totals;
    if (totals.total_count == 0 && totals.live_count == 0 && totals.total_ns == 0) continue;
    now[i] = static_cast<std::int64_t>(left.size());
    left.push_back(std::move(report.sites[i]));
  }
  report.sites = std::move(left);
  renumber_sites(report, now);
}

class Details final : public TraceDetails {
 public:
  explicit Details(const TraceNames& names)
      : names_(names),
        sites_(std::max<std::size_t>(names.facts.sites.size(), 1)),
        pasts_(sites_.size()) {
    parts_.recorder = names.facts;
    parts_.function_names = names.functions;
    peaks_.emplace(parts_.recorder.tags.own());
  }

  void event(const FollowedEvent& now) override {
    const TraceEvent& one = now.one;
    const Event& event = one.event;
    now_ns_ = now.clock_ns;
    frees_last_of_ = nullptr;
    if (one.what > trace::What::went || event.failed) return;
    const bool frees = is_freeing(event.effect) && event.tag != 0;
    LastCall& last = last_[one.thread];
    if (is_allocating(event.effect)) {
      if (last.freed_at) ++sites_[*last.freed_at].temporary;
      last = {.address = event.address, .tag = event.tag};
    } else if (frees && event.address == last.address && event.tag == last.tag) {
      frees_last_of_ = &last;
      last.address = 0;
    }
  }

  void came(const TraceBlock& block, const FollowedEvent& now) override {
    if (!block.passes) return;
    pasts_.advance(allocations_);
    ++allocations_;
    if (blocks_.size() <= block.slot) blocks_.resize(block.slot + std::size_t{1});
    blocks_[block.slot] = {.tag = block.tag,
                           .bytes = block.bytes,
                           .born_ns = now.one.event.start_ns,
                           .born = allocations_};
    const std::size_t site = site_of_tag(names_, block.tag);
    count_at(sites_[site].sizes, static_cast<std::size_t>(std::bit_width(block.bytes)));
    pasts_.came(site, block.bytes);
    peaks_->came(block.tag, block.bytes);
  }
  void went(const TraceBlock& block, const FollowedEvent& now, TraceMemory::End how) override {
    if (!block.passes) return;
    Block& its = blocks_[block.slot];
    const std::size_t site = site_of_tag(names_, block.tag);
    if (how == TraceMemory::End::freed) {
      count_at(sites_[site].lifetimes, lifetime_decade(after(its.born_ns, now.one.event.start_ns)));
      if (frees_last_of_ != nullptr) frees_last_of_->freed_at = site;
    }
    its.born_ns = 0;
    pasts_.advance(allocations_);
    pasts_.went(site, block.bytes);
    peaks_->went(block.tag, block.bytes);
  }

  Report report(const TraceFollower& trace, const Filter& filter, const TraceTotals& totals,
                const JointPeaks& joint) override {
    Report report = report_of_trace(trace, totals);
    for (std::size_t i = 0; i < sites_.size(); ++i) {
      Site& site = report.sites[i];
      site.lifetimes = std::move(sites_[i].lifetimes);
      site.sizes = std::move(sites_[i].sizes);
      site.temporary_count = sites_[i].temporary;
    }
    pasts_.advance(allocations_);
    pasts_.put_into(report);
    add_counts(totals, trace.begin_ns());
    std::vector<std::int64_t> sites;  // by tag
    for (Tag tag = 0; tag < parts_.recorder.tags.size(); ++tag) {
      sites.push_back(static_cast<std::int64_t>(site_of_tag(names_, tag)));
    }
    report.kinds = make_kinds(parts_, sites);
    report.axes = make_axes(parts_);
    report.ledger = make_ledger(parts_, report.axes);
    report.threads = make_threads(parts_.recorder);
    parts_.memory.allocations = report.timeline.allocations = allocations_;
    add_ages(parts_, sites, report.sites);
    parts_.memory.kinds = joint.totals();
    for (const KindFacts& facts : make_kinds(parts_, sites)) {
      report.joint_peaks.push_back({.facts = facts, .shares = joint.shares(facts.device, sites)});
    }
    leave_out_empty_sites(report);
    report.trigger = word_of(Trigger::trace);
    if (filter.is_empty()) return report;
    report.chosen = Chosen{.by_rows = false, .kinds = report.kinds};
    if (!filter.to.empty()) report.chosen->until_ns = trace.filter().to_ns;
    return report;
  }

 private:
  struct Block {
    Tag tag = 0;
    std::uint64_t bytes = 0;
    std::uint64_t born_ns = 0;  // 0: it is gone
    std::uint64_t born = 0;     // the number of its allocation
  };
  struct LastCall {  // a thread's last allocation
    Address address = 0;
    Tag tag = 0;
    std::optional<std::size_t> freed_at = {};  // its site, once it was freed
  };
  struct Counts {
    std::vector<std::uint64_t> lifetimes = {};
    std::vector<std::uint64_t> sizes = {};
    std::uint64_t temporary = 0;
  };

  void add_counts(const TraceTotals& totals, std::uint64_t begin_ns) {
    Snapshot& memory = parts_.memory;
    memory.start_ns = begin_ns;
    memory.taken_ns = now_ns_;
    for (const auto& [where, kind] : totals.kinds) {
      memory.kinds.push_back({.kind = where.first,
                              .device = where.second,
                              .current_bytes = kind.held.live_bytes,
                              .peak_bytes = kind.held.peak_bytes,
                              .allocations = kind.held.allocations,
                              .frees = kind.held.frees,
                              .peak_ns = kind.peak_ns,
                              .peak_tag = kind.peak_tag});
    }
    std::vector<TagTotals>& tags = memory.tags.own();
    tags.resize(parts_.recorder.tags.size());
    for (const auto& [key, tag] : totals.tags) {
      if (key.first == 0 || key.first >= tags.size()) continue;
      TagTotals& sum = tags[key.first];
      sum.live_bytes += tag.held.live_bytes;
      sum.live_count += tag.held.live_count;
      sum.peak_bytes += tag.held.peak_bytes;
      sum.peak_count += tag.held.peak_count;
      sum.total_bytes += tag.held.bytes;
      sum.total_count += tag.held.allocations;
      parts_.recorder.tags.own()[key.first].total_ns += tag.total_ns;
    }
    memory.group_peaks = std::move(peaks_->peaks);
    for (const Block& block : blocks_) {
      if (block.born_ns == 0) continue;
      memory.blocks.push_back({.requested_size = block.bytes,
                               .tag = block.tag,
                               .state = BlockState::active_allocated,
                               .born_ns = block.born_ns,
                               .born = block.born});
    }
  }

  const TraceNames& names_;
  ReportParts parts_;
  std::optional<AxisPeaks> peaks_;
  std::vector<Counts> sites_;
  SitePasts pasts_;
  std::vector<Block> blocks_;  // by slot
  std::map<std::uint32_t, LastCall> last_;
  std::uint64_t allocations_ = 0;
  std::uint64_t now_ns_ = 0;
  LastCall* frees_last_of_ = nullptr;  // the free that is being looked at is of it
};

}  // namespace

std::unique_ptr<TraceDetails> trace_details(const TraceNames& names) {
  return std::make_unique<Details>(names);
}

std::optional<Report> detailed_report(TraceFollower& trace, const Filter& filter) {
  TraceTotals totals;
  JointPeaks joint;
  Details details(trace.names());
  if (!trace.follow({&totals, &joint, &details})) return std::nullopt;
  totals.finish();
  return details.report(trace, filter, totals, joint);
}

}  // namespace vramscope
