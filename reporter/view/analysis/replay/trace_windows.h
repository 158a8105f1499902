// TraceWindows records what places allocated and held in each of many equal parts of a trace, so
// that a page can show any window that begins and ends between parts.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "reporter/view/analysis/replay/trace_follower.h"
#include "reporter/view/analysis/replay/trace_totals.h"

namespace vramscope {

// Counts what passes. Threads: one. May throw bad_alloc.
class TraceWindows final : public TraceObserver {
 public:
  static constexpr std::size_t kParts = 100;

  // length_ns: of the trace. memory: the memory whose peaks events_until() gives. site_of: the
  // report's site of a tag.
  TraceWindows(std::uint64_t length_ns, TracePlace memory, std::function<std::size_t(Tag)> site_of);
  void event(const FollowedEvent& now) override;
  void came(const TraceBlock& block, const FollowedEvent& now) override;
  void went(const TraceBlock& block, const FollowedEvent& now, TraceMemory::End how) override;
  void finish();

  // For a part: the most that the memory held in it, and the number of events up to and including
  // the first that reached it.
  [[nodiscard]] std::uint64_t highest_of(std::size_t part) const { return instants_[part].bytes; }
  [[nodiscard]] std::uint64_t events_until(std::size_t part) const {
    return instants_[part].events;
  }
  [[nodiscard]] TracePlace memory() const { return memory_of_; }
  [[nodiscard]] std::uint64_t part_ns() const { return part_ns_; }

  // Most: when the memory held most in the part. Live: at the part's end. The others: during the
  // part.
  enum Number { kMostBytes, kMostCount, kLiveBytes, kLiveCount, kBytes, kCount, kTime };
  using Numbers = std::array<std::uint64_t, 7>;
  struct Change {
    std::size_t part = 0;
    Numbers numbers{};
  };
  struct Memory {
    std::uint64_t live_bytes = 0;
    std::uint64_t highest_bytes = 0;          // of this part
    std::uint64_t number = 1;                 // of the highest value so far
    std::vector<std::uint64_t> highest = {};  // by part
  };
  struct Row {
    Memory* memory = nullptr;
    std::uint64_t number = 0;  // of the highest value to which the first two numbers belong
    bool is_changed = false;   // in this part
    Numbers numbers{};
    std::vector<Change> changes = {};  // of the parts in which it changed
  };
  [[nodiscard]] const std::map<TracePlace, Memory>& memories() const { return memories_; }
  using Key = std::pair<std::size_t, TracePlace>;  // by site
  [[nodiscard]] const std::map<Key, Row>& rows() const { return rows_; }
  // Allocations by part, as in Site::sizes and Site::lifetimes.
  using Counts = std::vector<std::vector<std::uint64_t>>;
  [[nodiscard]] const Counts& sizes() const { return sizes_; }
  [[nodiscard]] const Counts& lives() const { return lives_; }

 private:
  struct Instant {
    std::uint64_t bytes = 0;
    std::uint64_t events = 0;
  };

  Row& touch(Tag tag, Place place);
  void advance(std::uint64_t part);
  void end_part();

  const std::uint64_t part_ns_;
  const TracePlace memory_of_;
  const std::function<std::size_t(Tag)> site_of_;
  std::uint64_t events_ = 0;
  std::array<Instant, kParts> instants_{};
  std::size_t part_ = 0;
  std::map<TracePlace, Memory> memories_;
  std::map<Key, Row> rows_;
  std::vector<Row*> changed_;
  std::vector<std::uint64_t> born_;  // by slot
  Counts sizes_;
  Counts lives_;
};

}  // namespace vramscope
