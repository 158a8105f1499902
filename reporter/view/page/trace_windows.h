// TraceWindows is what places allocated and held in each of many equal parts of a trace, so that a
// page can tell it of any window that begins and ends where parts do.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "reporter/report/traces/trace_memory.h"
#include "reporter/view/analysis/replay/trace_filter.h"
#include "reporter/view/analysis/replay/trace_totals.h"
#include "reporter/view/listing/json_text.h"
#include "reporter/view/page/page_sites.h"

namespace vramscope {

// Takes events in the order by_change. Threads: one. May throw bad_alloc.
class TraceWindows : private TraceMemory::Changes {
 public:
  static constexpr std::size_t kParts = 100;

  // first_ns, last_ns: of the trace. memory: of whose highest events_until() tells. What does not
  // pass the filter, which outlives this, is left out. site_of: the report's site of a tag.
  TraceWindows(std::uint64_t first_ns, std::uint64_t last_ns, TracePlace memory,
               const TraceFilter& filter, std::function<std::size_t(Tag)> site_of);
  void add(const TraceEvent& one);
  void finish();

  // Allocations of the whole trace, as Site::sizes and Site::lifetimes have them.
  [[nodiscard]] std::vector<std::uint64_t> sizes() const { return sum_of(sizes_); }
  [[nodiscard]] std::vector<std::uint64_t> lives() const { return sum_of(lives_); }

  // Of a part: the most that the memory held in it, and how many events there were when it first
  // did, with the one by which it did.
  [[nodiscard]] std::uint64_t highest_of(std::size_t part) const { return instants_[part].bytes; }
  [[nodiscard]] std::uint64_t events_until(std::size_t part) const {
    return instants_[part].events;
  }
  [[nodiscard]] TracePlace memory() const { return memory_of_; }
  [[nodiscard]] std::uint64_t part_ns() const { return part_ns_; }

  // The field "windows" into an object: "part_ns", "highest" (by memory, of each part), "rows" (by
  // row of `sites`) and "others" (by memory), each a list of parts in which something changed:
  // [part, bytes and blocks when that memory held most, bytes and blocks at the end, bytes, calls
  // and ns of allocations], and "sizes" and "lives" of each part.
  void write(JsonText& json, const PageSites& sites) const;

 private:
  using Where = TracePlace;
  using Numbers = std::array<std::uint64_t, 7>;
  struct Change {
    std::size_t part = 0;
    Numbers numbers{};
  };
  struct Memory {
    std::uint64_t live_bytes = 0;
    std::uint64_t highest_bytes = 0;  // of this part
    std::uint64_t number = 1;         // of the highest so far
    std::vector<std::uint64_t> highest = {};
  };
  struct Instant {
    std::uint64_t bytes = 0;
    std::uint64_t events = 0;
  };
  struct Row {
    Memory* memory = nullptr;
    std::uint64_t number = 0;  // of the highest that the first two numbers belong to
    bool is_changed = false;   // in this part
    Numbers numbers{};
    std::vector<Change> changes = {};
  };

  void came(const TraceBlock& block, const Event& event) override;
  void went(const TraceBlock& block, TraceMemory::End how) override;
  Row& touch(Tag tag, Place place);
  void advance(std::uint64_t part);
  void end_part();
  static std::vector<std::uint64_t> sum_of(const std::vector<std::vector<std::uint64_t>>& parts);
  static void add_up(std::vector<Change>& sum, const std::vector<Change>& more);

  const std::uint64_t first_ns_;
  const std::uint64_t part_ns_;
  const TracePlace memory_of_;
  const TraceFilter& filter_;
  const std::function<std::size_t(Tag)> site_of_;
  std::uint64_t now_ = 0;
  std::uint64_t events_ = 0;
  std::array<Instant, kParts> instants_{};
  std::vector<bool> left_out_;  // by slot
  std::size_t part_ = 0;
  TraceMemory memory_;
  std::map<Where, Memory> memories_;
  std::map<std::pair<std::size_t, Where>, Row> rows_;
  std::vector<Row*> changed_;
  std::vector<std::uint64_t> born_;                // by slot
  std::vector<std::vector<std::uint64_t>> sizes_;  // by part, then by std::bit_width(bytes)
  std::vector<std::vector<std::uint64_t>> lives_;  // by part, then by decade from under 1 us on
};

}  // namespace vramscope
