// TraceSegments follows the blocks of a trace, and puts those that live into segments.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
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
  // Up to an instant after time 0: what comes after it, or after that, does not count.
  explicit TraceSegments(const TraceFollower& trace, std::uint64_t until_ns = UINT64_MAX)
      : trace_(trace),
        until_ns_(until_ns),
        is_dedicated_(trace.names().process.mode == "dedicated"),
        extents_(trace.segments(), is_dedicated_) {}

  void event(const FollowedEvent& now) override;
  void came(const TraceBlock& block, const FollowedEvent& now) override;
  void went(const TraceBlock& block, const FollowedEvent& now, TraceMemory::End how) override;
  // Of the last event that counts: its instant, and when it ended by the clock of events.
  [[nodiscard]] std::uint64_t at_ns() const { return at_ns_; }
  [[nodiscard]] std::uint64_t last_end_ns() const { return last_end_ns_; }
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
  [[nodiscard]] SegmentFacts facts_of(const Key& key, const TraceExtent& extent) const;
  // Free blocks are nobody's, and of no time.
  [[nodiscard]] bool passes_idle(Place place) const {
    return trace_.filter().is_by_memory && trace_.filter().passes_memory(place);
  }
  [[nodiscard]] bool passes(const TraceBlock& block) const;
  [[nodiscard]] std::vector<const TraceBlock*> in_order() const;
  static SegmentFacts& segment_of(std::map<Key, SegmentFacts>& segments, const TraceBlock& block);
  // How much behind its last block may belong to that. Where large segments are cut, a rest of 1
  // MiB at most; where they are not, a block has its segment, which is less than 2 MiB larger.
  [[nodiscard]] std::uint64_t most_rest(const SegmentFacts& segment) const;
  void add_hole(SegmentFacts& segment, Address end) const;
  // In a damaged trace blocks may overlap; what comes second is left out then.
  void add_block(SegmentFacts& segment, const TraceBlock& block) const;

  const TraceFollower& trace_;
  const std::uint64_t until_ns_;
  const bool is_dedicated_;
  std::uint64_t at_ns_ = 0;
  std::uint64_t last_end_ns_ = 0;
  bool is_over_ = false;
  std::vector<std::optional<TraceBlock>> blocks_;  // by slot
  TraceExtents extents_;
};

}  // namespace vramscope
