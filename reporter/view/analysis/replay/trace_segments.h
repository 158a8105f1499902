// TraceSegments follows the blocks of a trace, and puts those that live into segments.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "reporter/report/report.h"
#include "reporter/report/traces/trace_memory.h"
#include "reporter/view/analysis/replay/trace_extents.h"
#include "reporter/view/analysis/replay/trace_filter.h"

namespace vramscope {

// Every segment and block that lives, event by event, in the order by_change. Segments are those
// that the trace tells, or inferred: see TraceExtents. Threads: one. May throw bad_alloc.
class TraceSegments : private TraceMemory::Changes {
 public:
  // told: TraceReader::segments(). The filter and they outlive this.
  TraceSegments(bool is_dedicated, const TraceFilter& filter,
                const std::vector<SegmentChange>& told)
      : is_dedicated_(is_dedicated), filter_(filter), extents_(told, is_dedicated) {}

  void add(const TraceEvent& event) {
    extents_.advance_to(event);
    memory_.add(event, *this);
  }
  // After the last event: what the driver gave and took up to that time, by the clock of events.
  void end_at(std::uint64_t ns) { extents_.advance_to(ns); }
  // Whether there are any that the trace does not tell.
  [[nodiscard]] bool are_inferred() const {
    return extents_.are_inferred() && !extents_.all().empty();
  }
  [[nodiscard]] bool by_pytorch() const { return extents_.keeps_pinned_whole(); }
  // Adds segments with a block that passes the filter, idle ones if it asks for kinds and devices
  // alone; of devices no more than those and the index. first_ns: of the trace's first event, from
  // which the times of blocks count.
  void put_into(Report& report, const TraceNames& names, std::uint64_t first_ns);

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
    return filter_.is_by_memory && filter_.passes_memory(place);
  }
  [[nodiscard]] bool passes(const LiveBlock& block) const;
  void came(const TraceBlock& block, const Event& event) override;
  void went(const TraceBlock& block, TraceMemory::End how) override;
  [[nodiscard]] std::vector<const LiveBlock*> in_order() const;
  static SegmentFacts& segment_of(std::map<Key, SegmentFacts>& segments, const LiveBlock& block);
  // How much behind its last block may belong to that. Where large segments are cut, a rest of 1
  // MiB at most; where they are not, a block has its segment, which is less than 2 MiB larger.
  [[nodiscard]] std::uint64_t most_rest(const SegmentFacts& segment) const;
  void add_hole(SegmentFacts& segment, Address end) const;
  // In a damaged trace blocks may overlap; what comes second is left out then.
  void add_block(SegmentFacts& segment, const LiveBlock& block, const TraceNames& names) const;

  const bool is_dedicated_;
  const TraceFilter& filter_;
  std::uint64_t first_ns_ = 0;
  TraceMemory memory_;
  std::vector<LiveBlock> blocks_;  // by slot
  TraceExtents extents_;
};

}  // namespace vramscope
