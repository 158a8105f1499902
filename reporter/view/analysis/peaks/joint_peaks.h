// JointPeaks follows what a process holds of each device, all kinds of memory together, since the
// kinds may peak at different times.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "allocator/base/snapshot.h"
#include "reporter/report/oom_events.h"
#include "reporter/view/analysis/replay/trace_totals.h"

namespace vramscope {

// Counts requested bytes of what passes. Threads: one.
class JointPeaks final : public TraceObserver {
 public:
  void came(const TraceBlock& block, const FollowedEvent& now) override;
  void went(const TraceBlock& block, const FollowedEvent& now, TraceMemory::End how) override;

  // Returns a row for each device with several kinds, as if they were one kind, given as `device`.
  // May throw bad_alloc.
  [[nodiscard]] std::vector<KindTotals> totals() const;
  // Returns what was live at that peak of a device, by place and kind, the largest first. sites:
  // the site of each tag. May throw bad_alloc.
  [[nodiscard]] std::vector<OomShare> shares(std::uint16_t device,
                                             const std::vector<std::int64_t>& sites) const;

 private:
  struct OfDevice {
    TraceKind all;  // the device's memory as if it were of one kind
    std::set<Kind> kinds = {};
  };

  TraceTag& touch(const TraceBlock& block);

  std::map<std::uint16_t, OfDevice> devices_;
  std::map<std::pair<Tag, TracePlace>, TraceTag> tags_;
};

}  // namespace vramscope
