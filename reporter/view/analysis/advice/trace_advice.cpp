// Looks at the blocks that made the peak of a trace.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/advice/trace_advice.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "reporter/report/attribution.h"
#include "reporter/report/parts.h"
#include "reporter/view/analysis/advice/peak_blocks.h"
#include "reporter/view/analysis/filter/filter.h"
#include "reporter/view/analysis/memory_map.h"
#include "reporter/view/analysis/replay/trace_details.h"
#include "reporter/view/analysis/replay/trace_map.h"
#include "reporter/view/analysis/replay/trace_report.h"
#include "reporter/view/analysis/stacks/stack_view.h"

namespace vramscope {
namespace {

constexpr std::uint64_t kLeastBytes = std::uint64_t{16} << 20;  // less is not worth a person's time
constexpr std::uint64_t kLateShare = 20;                        // of the peak: a twentieth
constexpr std::uint64_t kOverlapShare = 10;  // a tenth, which both ranges hold and which is saved
constexpr std::uint64_t kLongBefore = 10;    // a tenth of the run's allocations until the peak
constexpr std::size_t kSitesNamed = 8;

// What blocks have in common: the outermost range, which stands for a phase of the program.
std::string phase_of(const std::string& range) { return range.substr(0, range.find('/')); }

bool is_none(const std::string& range) {
  return range.empty() || range == kNoValue || range == "unknown" || range == "others";
}

// The values of tags, which are asked for often.
class TagValues {
 public:
  explicit TagValues(const TraceNames& names) {
    parts_.recorder = names.facts;
    parts_.function_names = names.functions;
  }
  [[nodiscard]] std::string of(Axis axis, Tag tag) const { return value_of_tag(parts_, axis, tag); }

 private:
  ReportParts parts_;
};

// Memory of one phase.
struct Phase {
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;
  std::uint64_t late_bytes = 0;  // freed after the peak, and followed by other allocations
  std::uint64_t late_count = 0;
  std::set<std::string> threads = {};
  std::map<Tag, AdviceSite> sites = {};  // of what was freed late
};
using Phases = std::map<std::string, Phase>;

Phases phases_of(const PeakBlocks& blocks, const TagValues& values) {
  Phases phases;
  for (const PeakBlocks::Block& block : blocks.blocks()) {
    const std::string range = values.of(Axis::range, block.tag);
    if (is_none(range)) continue;
    Phase& phase = phases[phase_of(range)];
    phase.bytes += block.bytes;
    ++phase.count;
    phase.threads.insert(values.of(Axis::thread, block.tag));
    if (!block.is_freed || !block.is_followed) continue;
    phase.late_bytes += block.bytes;
    ++phase.late_count;
    AdviceSite& site = phase.sites[block.tag];
    site.bytes += block.bytes;
    ++site.count;
  }
  return phases;
}

class Finder {
 public:
  Finder(TraceReader& reader, TraceFollower& trace, const Report& report, const NameFrame& name)
      : reader_(reader), trace_(trace), name_(name), values_(trace.names()) {
    for (std::size_t i = 0; i < report.sites.size(); ++i) {
      for (const std::uint32_t number : report.sites[i].numbers) {
        places_[number] = static_cast<std::int64_t>(i);
      }
    }
  }

  // False: the trace cannot be read.
  [[nodiscard]] bool find(TraceAdvice& advice) {
    std::vector<Advice>& all = advice.found;
    PeakInstant instant;
    if (!trace_.follow({&instant})) return false;
    peak_ = instant.highest();
    has_refusal_ = instant.has_refusal();
    if (peak_.bytes == 0) return true;
    PeakBlocks blocks(peak_);
    if (!trace_.follow({&blocks})) return false;
    blocks.finish();
    const Phases phases = phases_of(blocks, values_);
    if (!add_growing(all, blocks) || !add_overlap(all, phases)) return false;
    add_late(all, blocks, phases);
    return add_map(advice);
  }

 private:
  [[nodiscard]] std::int64_t place_of_tag(Tag tag) const {
    return place_of_number(site_of_tag(trace_.names(), tag));
  }
  [[nodiscard]] std::int64_t place_of_number(std::size_t number) const {
    const auto found = places_.find(number);
    return found == places_.end() ? -1 : found->second;
  }
  [[nodiscard]] std::vector<AdviceSite> sites_of(const std::map<Tag, AdviceSite>& by_tag) const;
  void add_late(std::vector<Advice>& all, const PeakBlocks& blocks, const Phases& phases) const;
  [[nodiscard]] bool add_growing(std::vector<Advice>& all, const PeakBlocks& blocks) const;
  [[nodiscard]] bool add_overlap(std::vector<Advice>& all, const Phases& phases);
  [[nodiscard]] bool add_map(TraceAdvice& found);

  TraceReader& reader_;
  TraceFollower& trace_;
  const NameFrame& name_;
  const TagValues values_;
  std::map<std::size_t, std::int64_t> places_;  // indices into the report's sites, by number
  PeakInstant::Found peak_;
  bool has_refusal_ = false;
  std::set<std::string> overlapping_;  // phases of which that was found
};

std::vector<AdviceSite> Finder::sites_of(const std::map<Tag, AdviceSite>& by_tag) const {
  std::map<std::int64_t, AdviceSite> joined;
  for (const auto& [tag, site] : by_tag) {
    AdviceSite& its = joined[place_of_tag(tag)];
    its.site = place_of_tag(tag);
    its.bytes += site.bytes;
    its.count += site.count;
  }
  std::vector<AdviceSite> sites;
  for (const auto& [place, site] : joined) sites.push_back(site);
  std::stable_sort(sites.begin(), sites.end(),
                   [](const AdviceSite& a, const AdviceSite& b) { return a.bytes > b.bytes; });
  sites.resize(std::min(sites.size(), kSitesNamed));
  return sites;
}

// What grew until the peak, even if the program freed it as it ended. A peak in the first half of
// the run is another matter: a program that only loads until then grows, too.
bool Finder::add_growing(std::vector<Advice>& all, const PeakBlocks& blocks) const {
  if (blocks.allocations_until_peak() < blocks.allocations() / 2) return true;
  const Filter until{.to = std::to_string(peak_.at_ns) + "ns"};
  TraceFollower trace(reader_, until, name_);
  const std::optional<Report> report = detailed_report(trace, until);
  if (!report) return false;
  for (Advice& advice : growing_in(*report, name_)) {
    AdviceSite& site = advice.sites.front();
    site.site = place_of_number(report->sites[static_cast<std::size_t>(site.site)].numbers.front());
    const bool is_known = std::any_of(all.begin(), all.end(), [&](const Advice& other) {
      return other.what == FindingKind::grows && other.sites.front().site == site.site;
    });
    if (is_known || advice.saves_bytes < kLeastBytes ||
        advice.saves_bytes < peak_.bytes / kLateShare) {
      continue;
    }
    advice.peak_ns = peak_.at_ns;
    all.push_back(std::move(advice));
  }
  return true;
}

// A trace does not record when memory is used. A phase is over where it has allocated nothing for a
// tenth of the allocations before the peak, and the peak is not made in it.
void Finder::add_late(std::vector<Advice>& all, const PeakBlocks& blocks,
                      const Phases& phases) const {
  std::map<std::string, PeakBlocks::LastAllocation> last;
  for (const auto& [tag, its] : blocks.last()) {
    PeakBlocks::LastAllocation& of_phase = last[phase_of(values_.of(Axis::range, tag))];
    if (its.number > of_phase.number) of_phase = its;
  }
  const std::uint64_t until = blocks.allocations_until_peak();
  const std::string at_peak = phase_of(values_.of(Axis::range, peak_.tag));
  for (const auto& [name, phase] : phases) {
    const std::uint64_t later = until - last[name].number;
    const bool is_over = name != at_peak && later != 0 && later >= until / kLongBefore;
    if (!is_over || overlapping_.contains(name) || phase.late_bytes < kLeastBytes ||
        phase.late_bytes < peak_.bytes / kLateShare) {
      continue;
    }
    all.push_back({.what = FindingKind::freed_late,
                   .sure = Certainty::at_most,
                   .saves_bytes = phase.late_bytes,
                   .device = peak_.device,
                   .sites = sites_of(phase.sites),
                   .parties = {{name, phase.late_bytes}, {is_none(at_peak) ? "" : at_peak, 0}},
                   .whole_bytes = peak_.bytes,
                   .count = phase.late_count,
                   .of_count = later,
                   .peak_ns = peak_.at_ns,
                   .last_ns = last[name].at_ns});
  }
}

// The most that a device would have held if of two phases the smaller one had not been there.
class WithoutOverlap final : public TraceObserver {
 public:
  WithoutOverlap(std::uint16_t device, const std::vector<int>& phase_of_tag)
      : device_(device), phase_of_tag_(phase_of_tag) {}

  void came(const TraceBlock& block, const FollowedEvent&) override {
    change(block, block.bytes);
    most = std::max(most, total_ - std::min(phases_[0], phases_[1]));
  }
  void went(const TraceBlock& block, const FollowedEvent&, TraceMemory::End) override {
    change(block, 0 - block.bytes);
  }
  std::uint64_t most = 0;

 private:
  // Sums are modulo 2^64.
  void change(const TraceBlock& block, std::uint64_t bytes) {
    if (!takes_device_memory(block.place.kind) || block.place.device != device_) return;
    total_ += bytes;
    const int phase = block.tag < phase_of_tag_.size() ? phase_of_tag_[block.tag] : -1;
    if (phase >= 0) phases_[static_cast<std::size_t>(phase)] += bytes;
  }

  const std::uint16_t device_;
  const std::vector<int>& phase_of_tag_;
  std::uint64_t total_ = 0;
  std::uint64_t phases_[2] = {};
};

// Of phases that one thread runs one after the other nobody knows whether they could be apart.
bool Finder::add_overlap(std::vector<Advice>& all, const Phases& phases) {
  std::vector<std::pair<std::uint64_t, std::string>> largest;
  for (const auto& [name, phase] : phases) largest.emplace_back(phase.bytes, name);
  std::sort(largest.begin(), largest.end(), std::greater<>());
  if (largest.size() < 2) return true;
  const Phase& first = phases.at(largest[0].second);
  const Phase& second = phases.at(largest[1].second);
  const bool are_apart =
      std::none_of(first.threads.begin(), first.threads.end(),
                   [&](const std::string& thread) { return second.threads.contains(thread); });
  if (!are_apart || second.bytes < kLeastBytes || second.bytes < peak_.bytes / kOverlapShare) {
    return true;
  }
  std::vector<int> phase_of_tag;
  for (Tag tag = 0; tag < trace_.names().facts.tags.size(); ++tag) {
    const std::string phase = phase_of(values_.of(Axis::range, tag));
    phase_of_tag.push_back(phase == largest[0].second ? 0 : phase == largest[1].second ? 1 : -1);
  }
  WithoutOverlap without(peak_.device, phase_of_tag);
  if (!trace_.follow({&without})) return false;
  const std::uint64_t saved = peak_.bytes - std::min(without.most, peak_.bytes);
  if (saved < kLeastBytes || saved < peak_.bytes / kOverlapShare) return true;
  overlapping_ = {largest[0].second, largest[1].second};
  all.push_back({.what = FindingKind::overlap,
                 .sure = Certainty::at_most,
                 .saves_bytes = saved,
                 .device = peak_.device,
                 .parties = {{largest[0].second, first.bytes}, {largest[1].second, second.bytes}},
                 .whole_bytes = peak_.bytes,
                 .count = first.count + second.count,
                 .peak_ns = peak_.at_ns});
  return true;
}

// When memory last ran out, else at the peak: of other instants it does not matter what is free.
bool Finder::add_map(TraceAdvice& found) {
  const Filter everything;
  using enum TraceInstant::What;
  const TraceInstant instant{.what = has_refusal_ ? oom : peak};
  const std::optional<TraceMap> map = trace_map(trace_, instant, everything);
  if (!map) return false;
  found.has_segments = !map->moment.are_inferred;
  if (!found.has_segments) return true;
  for (Advice& advice : advice_of_map(memory_map(map->report))) {
    for (AdviceSite& site : advice.sites) {
      site.site = site.site < 0 ? -1 : place_of_number(static_cast<std::size_t>(site.site));
    }
    (has_refusal_ ? advice.refused_ns : advice.peak_ns) = map->moment.at_ns;
    found.found.push_back(std::move(advice));
  }
  return true;
}

}  // namespace

std::optional<TraceAdvice> trace_advice(TraceReader& reader, TraceFollower& trace,
                                        const StackChoice& stacks, const NameFrame& name) {
  std::optional<Report> report = detailed_report(trace, {});
  if (!report) return std::nullopt;
  report->process.options = trace.names().process.settings;
  choose_frames(*report, stacks);
  TraceAdvice advice{.report = std::move(*report), .found = {}};
  advice.found = advice_of_report(advice.report, name);
  if (!Finder(reader, trace, advice.report, name).find(advice)) return std::nullopt;
  put_largest_first(advice.found);
  return advice;
}

}  // namespace vramscope
