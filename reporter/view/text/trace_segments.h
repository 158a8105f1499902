// TraceSegments follows the blocks of a trace, and puts those that live into segments.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "reporter/report/report.h"
#include "reporter/report/traces/trace_memory.h"
#include "reporter/view/text/trace_filter.h"

namespace vramscope {

// Every segment and block that lives, event by event, in the order by_change. A trace does not tell
// segments: trace_map() says what stands for them. Threads: one. May throw bad_alloc.
class TraceSegments : private TraceMemory::Changes {
 public:
  // first_ns: of the trace's first event. The filter outlives this.
  TraceSegments(bool is_dedicated, const TraceFilter& filter, std::uint64_t first_ns)
      : is_dedicated_(is_dedicated), filter_(filter), first_ns_(first_ns) {}

  void add(const TraceEvent& event) { memory_.add(event, *this); }
  // Adds segments with a block that passes the filter; of devices no more than those and the index.
  void put_into(Report& report, const TraceNames& names) const;

 private:
  using Key = std::pair<Space, Address>;
  struct LiveBlock {
    Place place;
    Address address = 0;
    std::uint64_t bytes = 0;  // requested; of a slot that nobody has: 0, and not live
    std::uint64_t born_ns = 0;
    Tag tag = 0;
    bool direct = false;
    bool live = false;
  };
  // A segment of ours as far as it is known.
  struct Extent {
    Address end = 0;
    Place place;
    std::uint64_t live = 0;  // blocks
    bool small = false;
  };

  [[nodiscard]] bool passes(const LiveBlock& block) const;
  void came(const TraceBlock& block, const Event& event) override;
  void went(const TraceBlock& block, TraceMemory::End how) override;
  // The last one that begins at the key or before it, in its space.
  [[nodiscard]] std::map<Key, Extent>::iterator extent_at(const Key& key);
  // A call of the driver brought a segment, or pages behind one in which blocks live.
  Extent& extent_for(const TraceBlock& block, const Event& event);
  // What was there before and has no block any more went back to the driver.
  Extent& begin_extent(const Key& key, Address end, const TraceBlock& block);
  [[nodiscard]] std::vector<const LiveBlock*> in_order() const;
  static SegmentFacts& segment_of(std::map<Key, SegmentFacts>& segments, const LiveBlock& block);
  // Where large segments are cut, a rest of 1 MiB at most stays with the block before it; where
  // they are not, a block has its segment, which is less than 2 MiB larger than the request.
  void add_hole(SegmentFacts& segment, Address end) const;
  // In a damaged trace blocks may overlap; what comes second is left out then.
  void add_block(SegmentFacts& segment, const LiveBlock& block, const TraceNames& names) const;

  const bool is_dedicated_;
  const TraceFilter& filter_;
  const std::uint64_t first_ns_;
  bool cuts_large_ = false;  // a block was seen in a large segment, not at its beginning
  TraceMemory memory_;
  std::vector<LiveBlock> blocks_;  // by slot
  std::map<Key, Extent> extents_;
};

}  // namespace vramscope
