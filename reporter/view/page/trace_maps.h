// TraceMaps is the segments of a trace at several instants, as a page draws them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "reporter/report/report.h"
#include "reporter/view/analysis/memory_map.h"
#include "reporter/view/analysis/replay/trace_segments.h"
#include "reporter/view/analysis/replay/trace_windows.h"
#include "reporter/view/page/page_map.h"

namespace vramscope {

// The input of TraceMaps, which it outlives.
struct TraceMapsOf {
  const TraceFollower& trace;             // was followed once
  const std::vector<std::size_t>& sites;  // the page's site for each site of the trace
  const TraceWindows& windows;            // are finished
  std::uint64_t live_count = 0;           // about the number of blocks live at one time
};

// Follows the trace's events once more. Makes one map of the run's peak, and for each part of the
// run one map of the instant at which the memory with the highest peak held most. If very much is
// live, it makes fewer maps, since they would take long. Threads: one. May throw bad_alloc.
class TraceMaps final : public TraceObserver {
 public:
  explicit TraceMaps(const TraceMapsOf& of);
  void event(const FollowedEvent& now) override;
  // Must receive each event after the maps.
  [[nodiscard]] TraceSegments& segments() { return segments_; }
  void finish();

  [[nodiscard]] const PageMap& map() const { return map_; }
  [[nodiscard]] const MapMoment& moment() const { return moment_; }  // of the run's peak
  // Returns the run's peak, without segments.
  [[nodiscard]] const std::vector<MapPlace>& places() const { return places_; }

 private:
  void take(std::size_t part);

  const TraceMapsOf of_;
  TraceSegments segments_;
  std::vector<std::size_t> shown_by_;   // for each part, the part whose instant shows it
  std::vector<std::size_t> wanted_;     // the parts of shown_by_, by time
  std::size_t peak_ = 0;                // the part with the run's peak
  std::vector<PageMap::Part> moments_;  // of wanted_
  PageMap map_;
  Report scratch_;  // its segments are those of an instant
  MapMoment moment_;
  std::vector<MapPlace> places_;
  std::uint64_t events_ = 0;
  std::uint64_t at_ns_ = 0;  // of the last event
};

}  // namespace vramscope
