// TraceExtents finds the segments of our allocator in which the blocks of a trace lie: from the
// trace or, if it has no segments, from the blocks.
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
  std::uint64_t live = 0;        // live blocks, for inferred segments
  std::uint64_t page_bytes = 0;  // 0: the segment was given as a whole
  bool small = false;            // for requests up to 1 MiB
  bool was_used = false;         // so `small` is known
};

// Threads: one. May throw bad_alloc.
class TraceExtents {
 public:
  using Key = std::pair<Space, Address>;
  using Map = std::map<Key, TraceExtent>;

  // told: TraceReader::segments(), which outlive this object; empty: segments are inferred from
  // blocks.
  TraceExtents(const std::vector<SegmentChange>& told, bool is_dedicated)
      : told_(told), is_dedicated_(is_dedicated) {}

  // Must be called before each event, in the order by_change: applies the recorded changes before
  // it.
  void advance_to(const TraceEvent& next);
  // Must be called after the last event: applies the changes up to that time.
  void advance_to(std::uint64_t ns);
  // Take the blocks of our allocator.
  void came(const TraceBlock& block, const Event& event);
  void went(const Key& key);

  [[nodiscard]] bool are_inferred() const { return told_.empty(); }
  // Returns the segments with live blocks, and idle ones if they were recorded.
  [[nodiscard]] const Map& all() const { return extents_; }
  // Returns whether large segments of device memory are cut.
  [[nodiscard]] bool cuts_large() const { return cuts_large_; }
  // Returns whether a segment of pinned memory is always one block.
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
  std::size_t next_ = 0;  // index into told_
  bool cuts_large_ = false;
  bool by_pytorch_ = false;
  Map extents_;
};

}  // namespace vramscope
