// TraceExtents says in which segments of our allocator the blocks of a trace lie: as the trace
// tells it, or, of one that does not, as far as blocks were seen.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "reporter/report/traces/trace_memory.h"

namespace vramscope {

struct TraceExtent {
  Address end = 0;
  Place place;
  std::uint64_t live = 0;        // blocks; of those that were not told
  std::uint64_t page_bytes = 0;  // 0: it came whole
  bool small = false;            // for requests of 1 MiB and less
  bool was_used = false;         // so `small` is known
};

// Threads: one. May throw bad_alloc.
class TraceExtents {
 public:
  using Key = std::pair<Space, Address>;
  using Map = std::map<Key, TraceExtent>;

  // told: TraceReader::segments(), which outlive this; empty: segments are inferred from blocks.
  TraceExtents(const std::vector<SegmentChange>& told, bool is_dedicated)
      : told_(told), is_dedicated_(is_dedicated) {}

  // Before each event, in the order by_change: what came and went before it, if that was told.
  void advance_to(const TraceEvent& next);
  // And after the last one, what did up to that time.
  void advance_to(std::uint64_t ns);
  // Of blocks of our allocator.
  void came(const TraceBlock& block, const Event& event);
  void went(const Key& key);

  [[nodiscard]] bool are_inferred() const { return told_.empty(); }
  // Those with live blocks, and idle ones if they were told.
  [[nodiscard]] const Map& all() const { return extents_; }
  // Whether large segments of device memory are cut.
  [[nodiscard]] bool cuts_large() const { return cuts_large_; }
  // Whether a segment of pinned memory is always one block.
  [[nodiscard]] bool keeps_pinned_whole() const { return by_pytorch_; }

 private:
  [[nodiscard]] Map::iterator at_or_before(const Key& key);
  void apply(const SegmentChange& change);
  void cut(const Key& begin, Address end);
  void add_pages(const SegmentChange& change);
  void use(Map::iterator extent, const TraceBlock& block, Address address);
  TraceExtent& infer(const TraceBlock& block, const Event& event);
  TraceExtent& begin_inferred(const Key& key, Address end, const TraceBlock& block);

  const std::vector<SegmentChange>& told_;
  const bool is_dedicated_;
  std::size_t next_ = 0;  // of told_
  bool cuts_large_ = false;
  bool by_pytorch_ = false;
  Map extents_;
};

}  // namespace vramscope
