// TraceSegments follows the blocks of a trace, and puts those that live into segments.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "reporter/report/report.h"
#include "reporter/view/analysis/replay/trace_extents.h"
#include "reporter/view/analysis/replay/trace_follower.h"

namespace vramscope {

// Every segment and block that lives, event by event, whatever passes. Segments are those that the
// trace tells, or inferred: see TraceExtents. Threads: one. May throw bad_alloc.
class TraceSegments final : public TraceObserver {
 public:
  explicit TraceSegments(const TraceFollower& trace)
      : trace_(trace),
        is_dedicated_(trace.names().process.mode == "dedicated"),
        extents_(trace.segments(), is_dedicated_) {}

  void event(const FollowedEvent& now) override { extents_.advance_to(now.one); }
  void came(const TraceBlock& block, const FollowedEvent& now) override;
  void went(const TraceBlock& block, const FollowedEvent& now, TraceMemory::End how) override;
  // After the last event: what the driver gave and took up to that time, by the clock of events.
  void end_at(std::uint64_t ns) { extents_.advance_to(ns); }
  // Whether there are any that the trace does not tell.
  [[nodiscard]] bool are_inferred() const {
    return extents_.are_inferred() && !extents_.all().empty();
  }
  [[nodiscard]] bool by_pytorch() const { return extents_.keeps_pinned_whole(); }
  // Adds segments with a block that passes the filter, idle ones if it asks for kinds and devices
  // alone; of devices no more than those and the index.
  void put_into(Report& report);

 private:
  using Key = TraceExtents::Key;
  struct LiveBlock {
    Place place;
    Address address = 0;
    std::uint64_t bytes = 0;  // requested; of a slot that nobody has: 0, and not live
    std::uint64_t born_ns = 0;
    Tag tag = 0;
    bool direct = false;
    bool live = false;
  };
  [[nodiscard]] SegmentFacts facts_of(const Key& key, const TraceExtent& extent) const;
  // Free blocks are nobody's, and of no time.
  [[nodiscard]] bool passes_idle(Place place) const {
    return trace_.filter().is_by_memory && trace_.filter().passes_memory(place);
  }
  [[nodiscard]] bool passes(const LiveBlock& block) const;
  [[nodiscard]] std::vector<const LiveBlock*> in_order() const;
  static SegmentFacts& segment_of(std::map<Key, SegmentFacts>& segments, const LiveBlock& block);
  // How much behind its last block may belong to that. Where large segments are cut, a rest of 1
  // MiB at most; where they are not, a block has its segment, which is less than 2 MiB larger.
  [[nodiscard]] std::uint64_t most_rest(const SegmentFacts& segment) const;
  void add_hole(SegmentFacts& segment, Address end) const;
  // In a damaged trace blocks may overlap; what comes second is left out then.
  void add_block(SegmentFacts& segment, const LiveBlock& block) const;

  const TraceFollower& trace_;
  const bool is_dedicated_;
  std::vector<LiveBlock> blocks_;  // by slot
  TraceExtents extents_;
};

}  // namespace vramscope
