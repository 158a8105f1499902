// TraceRefusals collects the failed allocations of a trace, and what held memory then.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "reporter/report/oom_events.h"
#include "reporter/view/analysis/replay/trace_follower.h"
#include "reporter/view/analysis/replay/trace_totals.h"

namespace vramscope {

// Collects failed allocations that pass the filter; shares are of everything that was live. The
// driver's free memory is not known. Threads: one. May throw bad_alloc.
class TraceRefusals final : public TraceObserver {
 public:
  // sites: the report's site for each site of the trace. The arguments outlive this object.
  TraceRefusals(const TraceNames& names, const std::vector<std::size_t>& sites)
      : names_(names), sites_(sites) {}

  void event(const FollowedEvent& now) override;
  void came(const TraceBlock& block, const FollowedEvent& now) override;
  void went(const TraceBlock& block, const FollowedEvent& now, TraceMemory::End how) override;
  // Returns the first ones and the last, as in a report.
  [[nodiscard]] OomReport finish();

 private:
  struct Held {
    std::uint64_t bytes = 0;
    std::uint64_t count = 0;
  };

  [[nodiscard]] std::size_t site_of(Tag tag) const;
  [[nodiscard]] OomEvent event_of(const FollowedEvent& now) const;
  Held& held_by(const TraceBlock& block) {
    return held_[place_of(block.place)][site_of(block.tag)];
  }
  void tell_holders();

  const TraceNames& names_;
  const std::vector<std::size_t>& sites_;
  std::map<TracePlace, std::map<std::size_t, Held>> held_;  // by site
  OomReport report_;
  bool lacks_holders_ = false;  // the last event lacks them
};

}  // namespace vramscope
