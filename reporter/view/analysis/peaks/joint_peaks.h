// JointPeaks follows what a process holds of each device, all kinds of memory together: their peaks
// need not have come together.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "allocator/ground/snapshot.h"
#include "reporter/report/oom_events.h"
#include "reporter/view/analysis/replay/trace_totals.h"

namespace vramscope {

// Of what passes, requested bytes. Threads: one.
class JointPeaks final : public TraceObserver {
 public:
  void came(const TraceBlock& block, const FollowedEvent& now) override;
  void went(const TraceBlock& block, const FollowedEvent& now, TraceMemory::End how) override;

  // A row for each device that had several kinds, as if they were one: of `device`. May throw
  // bad_alloc.
  [[nodiscard]] std::vector<KindTotals> totals() const;
  // What was live at that peak of a device, by place and kind, the largest first; sites: by tag.
  // May throw bad_alloc.
  [[nodiscard]] std::vector<OomShare> shares(std::uint16_t device,
                                             const std::vector<std::int64_t>& sites) const;

 private:
  struct OfDevice {
    TraceKind all;  // of its memory, as if that were of one kind
    std::set<Kind> kinds = {};
  };

  TraceTag& touch(const TraceBlock& block);

  std::map<std::uint16_t, OfDevice> devices_;
  std::map<std::pair<Tag, TracePlace>, TraceTag> tags_;
};

}  // namespace vramscope
