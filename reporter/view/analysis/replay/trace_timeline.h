// trace_timeline() returns exactly how memory changed in a window of a run, from its trace.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "reporter/view/analysis/peaks/joint_peaks.h"
#include "reporter/view/analysis/replay/trace_follower.h"
#include "reporter/view/analysis/replay/trace_totals.h"
#include "reporter/view/analysis/run_timeline.h"

namespace vramscope {

// Sums what passes in buckets that are as short as the window allows. NVTX ranges are derived from
// the allocations in them. Threads: one. May throw bad_alloc.
class TraceTimeline final : public TraceObserver {
 public:
  // The trace must have been followed once, so that its length is known.
  TraceTimeline(const TraceFollower& trace, const TimelineChoice& choice);

  void event(const FollowedEvent& now) override;
  void came(const TraceBlock& block, const FollowedEvent& now) override;
  void went(const TraceBlock& block, const FollowedEvent& now, TraceMemory::End how) override;

  // totals and joint are of the same events.
  [[nodiscard]] RunTimeline finish(const TraceTotals& totals, const JointPeaks& joint);

 private:
  // The bytes of one kind on one device. Empty buckets are filled when the next change arrives.
  struct Curve {
    RunCurve curve;
    std::uint64_t now = 0;

    void change(std::uint64_t at, std::uint64_t bytes, bool came);
    void advance(std::uint64_t at);  // nothing changed until then
  };
  // Whether an allocation belongs to the last span of its range: the thread has made no allocation
  // in another range since.
  struct OpenSpan {
    std::uint32_t range = 0;
    std::size_t span = 0;  // of RunRange::spans
  };
  using Which = std::tuple<bool, Kind, std::uint16_t>;  // all kinds; kind and device

  void change(const TraceBlock& block, const FollowedEvent& now, bool came);
  Curve& curve_of(const Which& which);
  void add_mark(RunMark::What what, const FollowedEvent& now);
  void add_to_range(const FollowedEvent& now);
  void add_peak(const KindTotals& of, bool is_of_all_kinds);

  const TraceFollower& trace_;
  const TimelineChoice choice_;
  RunTimeline timeline_;
  std::map<Which, Curve> curves_;
  std::map<std::uint32_t, RunRange> ranges_;
  std::map<std::uint32_t, OpenSpan> open_;  // by thread
};

// Uses the allocations that pass the trace's filter, which must follow all times. Reads the trace
// once for its length. Returns nothing on failure; missing() or problem() of the trace then says
// why. May throw bad_alloc.
[[nodiscard]] std::optional<RunTimeline> trace_timeline(TraceFollower& trace,
                                                        const TimelineChoice& choice);

}  // namespace vramscope
