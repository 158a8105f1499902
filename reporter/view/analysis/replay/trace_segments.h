// TraceSegments follows the blocks of a trace, and assigns the live ones to segments.
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

// Follows every live segment and block, event by event, whatever passes. Segments are recorded or
// inferred: see TraceExtents. Threads: one. May throw bad_alloc.
class TraceSegments final : public TraceObserver {
 public:
  // until_ns: the instant after time 0 from which on events do not count.
  explicit TraceSegments(const TraceFollower& trace, std::uint64_t until_ns = UINT64_MAX)
      : trace_(trace),
        until_ns_(until_ns),
        is_dedicated_(trace.names().process.mode == "dedicated"),
        extents_(trace.segments(), is_dedicated_) {}

  void event(const FollowedEvent& now) override;
  void came(const TraceBlock& block, const FollowedEvent& now) override;
  void went(const TraceBlock& block, const FollowedEvent& now, TraceMemory::End how) override;
  // The last event that counts: its instant, and its end by the clock of events.
  [[nodiscard]] std::uint64_t at_ns() const { return at_ns_; }
  [[nodiscard]] std::uint64_t last_end_ns() const { return last_end_ns_; }
  // Must be called after the last event: applies what the driver gave and took up to that time, by
  // the clock of events.
  void end_at(std::uint64_t ns) { extents_.advance_to(ns); }
  // Returns whether any segments are inferred.
  [[nodiscard]] bool are_inferred() const {
    return extents_.are_inferred() && !extents_.all().empty();
  }
  [[nodiscard]] bool by_pytorch() const { return extents_.keeps_pinned_whole(); }
  // Adds segments with a block that passes the filter, and idle ones if it asks only for kinds and
  // devices. Devices get only segments and index.
  void put_into(Report& report);

 private:
  using Key = TraceExtents::Key;
  [[nodiscard]] SegmentFacts facts_of(const Key& key, const TraceExtent& extent) const;
  // Free blocks have no owner and no time.
  [[nodiscard]] bool passes_idle(Place place) const {
    return trace_.filter().is_by_memory && trace_.filter().passes_memory(place);
  }
  [[nodiscard]] bool passes(const TraceBlock& block) const;
  [[nodiscard]] std::vector<const TraceBlock*> in_order() const;
  static SegmentFacts& segment_of(std::map<Key, SegmentFacts>& segments, const TraceBlock& block);
  // Returns how many bytes behind a segment's last block may belong to that block: at most 1 MiB if
  // large segments are cut, else less than 2 MiB, since a block has its own segment.
  [[nodiscard]] std::uint64_t most_rest(const SegmentFacts& segment) const;
  void add_hole(SegmentFacts& segment, Address end) const;
  // In a damaged trace blocks may overlap; the second one is left out.
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
