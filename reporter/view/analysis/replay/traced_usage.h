// TracedUsage adds up what a process held of devices while its trace is followed: peaks, steps from
// mark to mark, and ranges.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "reporter/view/analysis/process_figures.h"
#include "reporter/view/analysis/replay/trace_follower.h"

namespace vramscope {

// Counts requested bytes of the kinds that the report has, all devices together. Takes as much
// memory as there are marks and tags. Threads: one. May throw bad_alloc.
class TracedUsage final : public TraceObserver {
 public:
  // Adds the number of events to `followed` now and then, for those who wait. The arguments outlive
  // this object.
  TracedUsage(const TraceReader& reader, const ReportOfProcess& one,
              std::atomic<std::uint64_t>& followed);

  void event(const FollowedEvent& now) override;
  void came(const TraceBlock& block, const FollowedEvent& now) override {
    change(block, block.bytes, now.clock_ns);
  }
  // Sums are modulo 2^64, which damage alone would show.
  void went(const TraceBlock& block, const FollowedEvent& now, TraceMemory::End) override {
    change(block, 0 - block.bytes, now.clock_ns);
  }

  // Returns whether the kinds have the peaks that the report has. Those of a trace that began amid
  // the run may be lower.
  [[nodiscard]] bool fits_the_report() const;
  // Sets the peak, and the steps and ranges of the facts that the trace has whole. Ends the steps.
  // begin_ns: time 0 by the clock of the events.
  void tell(ReportOfProcess& one, std::uint64_t begin_ns);

 private:
  struct Held {
    std::uint64_t live = 0;
    std::uint64_t most = 0;
    std::uint64_t told = 0;  // of a kind: the peak that the report has

    void change(std::uint64_t bytes);
  };
  struct OfPlace {
    Place place;           // as the process counts
    Held* kind = nullptr;  // null: the report does not have it
    Held* device = nullptr;
  };
  struct Step {
    std::string name;
    std::uint64_t from_ns = 0;
    std::uint64_t most = 0;
    bool is_whole = true;  // the trace had begun
  };

  void set_steps();
  void set_ranges(const ReportOfProcess& one);
  void change(const TraceBlock& block, std::uint64_t bytes, std::uint64_t clock_ns);
  [[nodiscard]] const OfPlace& of(Place place);
  void begin_steps(std::uint64_t until_ns);
  void set_facts(RankFacts& facts) const;

  const TraceReader& reader_;
  std::atomic<std::uint64_t>& followed_;
  std::uint64_t untold_ = 0;                        // events
  std::map<std::uint16_t, std::uint16_t> numbers_;  // in the report, by the process's own
  std::map<std::pair<Kind, std::uint16_t>, Held> kinds_;
  std::map<std::uint16_t, Held> devices_;
  std::vector<OfPlace> places_;
  std::size_t last_place_ = 0;
  Held all_;
  std::uint64_t peak_ns_ = 0;  // by the clock of the events
  std::vector<Step> steps_;    // by time
  std::size_t begun_ = 0;      // steps; the last of these is the one that goes on
  std::map<std::string, Held> ranges_;
  std::vector<Held*> range_of_tag_;  // null: none
};

}  // namespace vramscope
