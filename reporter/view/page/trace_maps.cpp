// Stops at the instants that are to be shown, on the way through a trace.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/page/trace_maps.h"

#include <algorithm>
#include <array>

#include "reporter/report/memory_name.h"
#include "reporter/view/analysis/report_figures.h"

namespace vramscope {
namespace {

constexpr std::uint64_t kMostBlocks = 3'000'000;  // looked at for all maps together
constexpr std::size_t kPinners = 20;              // of the run's peak
constexpr std::size_t kPinnersOfPart = 5;
constexpr std::size_t kCells = 8000;
constexpr std::size_t kCellsOfPart = 2000;

void renumber(std::vector<SegmentFacts>& segments, const std::vector<std::size_t>& sites) {
  for (SegmentFacts& segment : segments) {
    for (BlockFacts& block : segment.blocks) {
      if (block.site < 0) continue;
      const auto site = std::min(static_cast<std::size_t>(block.site), sites.size() - 1);
      block.site = static_cast<std::int64_t>(sites[site]);
    }
  }
}

// The first of the parts from `begin` on with the highest of all.
std::size_t highest_of(const TraceWindows& windows, std::size_t begin, std::size_t end) {
  std::size_t best = begin;
  for (std::size_t part = begin; part < end; ++part) {
    if (windows.highest_of(part) > windows.highest_of(best)) best = part;
  }
  return best;
}

}  // namespace

TraceMaps::TraceMaps(const TraceMapsOf& of) : of_(of), segments_(of.trace) {
  constexpr std::size_t kParts = TraceWindows::kParts;
  const std::uint64_t blocks = of.live_count * kParts;
  const std::size_t step = std::min<std::size_t>(blocks / kMostBlocks + 1, kParts);
  for (std::size_t begin = 0; begin < kParts; begin += step) {
    const std::size_t end = std::min(begin + step, kParts);
    shown_by_.resize(end, highest_of(of.windows, begin, end));
  }
  wanted_ = shown_by_;
  wanted_.erase(std::unique(wanted_.begin(), wanted_.end()), wanted_.end());
  peak_ = highest_of(of.windows, 0, kParts);
}

void TraceMaps::event(const FollowedEvent& now) {
  while (moments_.size() < wanted_.size() &&
         of_.windows.events_until(wanted_[moments_.size()]) == events_) {
    take(wanted_[moments_.size()]);
  }
  ++events_;
  at_ns_ = now.at_ns;
}

void TraceMaps::finish() {
  while (moments_.size() < wanted_.size()) take(wanted_[moments_.size()]);
  std::vector<PageMap::Part> moments;
  for (const std::size_t part : shown_by_) {
    const auto found = std::lower_bound(wanted_.begin(), wanted_.end(), part);
    moments.push_back(moments_[static_cast<std::size_t>(found - wanted_.begin())]);
  }
  const std::size_t whole = moments[peak_].moment;
  map_.set_parts(whole, std::move(moments));
}

// Where nothing happened between two instants, one map is of both.
void TraceMaps::take(std::size_t part) {
  const std::size_t taken = moments_.size();
  const bool is_peak = part == peak_;
  const bool is_same = taken != 0 && !is_peak && wanted_[taken - 1] != peak_ &&
                       of_.windows.events_until(wanted_[taken - 1]) == events_;
  const std::uint64_t at_ns = is_peak ? at_ns_ : std::max(at_ns_, part * of_.windows.part_ns());
  if (is_same) {
    moments_.push_back({.moment = moments_.back().moment, .at_ns = at_ns});
    return;
  }
  scratch_.devices.clear();
  scratch_.host.segments.clear();
  scratch_.host.registrations.clear();
  if (segments_.by_pytorch()) scratch_.process.options = {{"policy", "pytorch"}};
  segments_.put_into(scratch_);
  for (DeviceReport& device : scratch_.devices) renumber(device.segments, of_.sites);
  renumber(scratch_.host.segments, of_.sites);
  renumber(scratch_.host.registrations, of_.sites);
  std::vector<MapPlace> places = memory_map(scratch_);
  const std::string memory = memory_name(of_.windows.memory().first, of_.windows.memory().second);
  const MapMoment moment{
      .text = is_peak ? "at the peak of " + memory : "when " + memory + " held most",
      .at_ns = at_ns,
      .is_of_trace = true,
      .are_inferred = segments_.are_inferred()};
  const std::size_t made = map_.add(places, moment, is_peak ? kPinners : kPinnersOfPart,
                                    is_peak ? kCells : kCellsOfPart);
  moments_.push_back({.moment = made, .at_ns = at_ns});
  if (!is_peak) return;
  moment_ = moment;
  places_ = std::move(places);
  for (MapPlace& place : places_) place.segments.clear();
}

}  // namespace vramscope
