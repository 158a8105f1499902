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

// What maps of a trace are made with. All of it outlives TraceMaps.
struct TraceMapsOf {
  const TraceFollower& trace;             // which was followed once
  const std::vector<std::size_t>& sites;  // the page's site of each of the trace
  const TraceWindows& windows;            // which are finished
  std::uint64_t live_count = 0;           // about how many blocks live at once
};

// Hears of the trace's events once more: one map of the run's peak, and for
// each of its parts one of the instant at which the memory that held most held most; fewer where so
// much is live that it would take long. Threads: one. May throw bad_alloc.
class TraceMaps final : public TraceObserver {
 public:
  explicit TraceMaps(const TraceMapsOf& of);
  void event(const FollowedEvent& now) override;
  // They hear of each event after the maps.
  [[nodiscard]] TraceSegments& segments() { return segments_; }
  void finish();

  [[nodiscard]] const PageMap& map() const { return map_; }
  [[nodiscard]] const MapMoment& moment() const { return moment_; }  // of the run's peak
  // At the run's peak, without segments.
  [[nodiscard]] const std::vector<MapPlace>& places() const { return places_; }

 private:
  void take(std::size_t part);

  const TraceMapsOf of_;
  TraceSegments segments_;
  std::vector<std::size_t> shown_by_;   // by part: the part whose instant shows it
  std::vector<std::size_t> wanted_;     // these, by time
  std::size_t peak_ = 0;                // the one of the run's peak
  std::vector<PageMap::Part> moments_;  // of wanted_
  PageMap map_;
  Report scratch_;  // whose segments are those of an instant
  MapMoment moment_;
  std::vector<MapPlace> places_;
  std::uint64_t events_ = 0;
  std::uint64_t at_ns_ = 0;  // of the last event
};

}  // namespace vramscope
