// TraceMemory says which memory each event of a trace allocates and which it frees. TraceSteps has
// all of that as a sequence that can be replayed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "reporter/report/traces/trace_reader.h"

namespace vramscope {

// An allocation of a trace.
struct TraceBlock {
  Place place;
  Tag tag = 0;
  std::uint64_t bytes = 0;  // requested
  std::uint32_t slot = 0;   // its number while it lives: unique among live blocks, reused after its
                            // end
  bool direct = false;      // the driver itself allocated it, not our allocator
  bool passes = true;       // whether it passes the filter of the code that follows the trace
  Address address = 0;
  std::uint64_t born_ns = 0;  // start of its call, by the clock of the events
};

// Takes events in the order by_change. Threads: one. May throw bad_alloc.
class TraceMemory {
 public:
  enum class End : bool { freed, lost };  // lost: it ended with its place, a context

  class Changes {
   public:
    virtual ~Changes() = default;
    virtual void came(const TraceBlock& block, const Event& event) = 0;
    virtual void went(const TraceBlock& block, End how) = 0;
  };

  // passes: becomes TraceBlock::passes of memory that the event allocates.
  void add(const TraceEvent& one, Changes& changes, bool passes = true);

 private:
  using Key = std::pair<Space, Address>;
  struct KeyHash {
    std::size_t operator()(const Key& key) const noexcept {
      return (key.second ^ static_cast<std::uint64_t>(key.first) << 60) * 0x9e3779b97f4a7c15U;
    }
  };

  void come(const Event& event, bool direct, bool passes, Changes& changes);
  void go(const Event& event, bool direct, Changes& changes);
  void end(const TraceBlock& block, End how, Changes& changes);
  void end_overlapping(Space space, Address address, std::uint64_t bytes, Changes& changes);
  template <class Blocks>
  void end_place(Blocks& blocks, Place place, Changes& changes);

  std::unordered_map<Key, TraceBlock, KeyHash> served_;  // blocks of our allocator, which never
                                                         // overlap
  std::map<Key, TraceBlock> direct_;
  std::vector<std::uint32_t> unused_slots_;
  std::uint32_t slots_ = 0;  // number of slots that were ever used
};

// One step of what a program did with memory. Blocks are known by slots, not by addresses.
struct TraceStep {
  enum class What : std::uint8_t { came, freed, lost };
  What what = What::came;
  Place place;
  std::uint32_t slot = 0;
  std::uint64_t bytes = 0;  // requested; in the end of a block, that block's bytes
};

struct TraceSteps {
  std::vector<TraceStep> steps;
  std::uint32_t slots = 0;  // every slot is below this number
};

// Reads everything that a trace did with memory, in its order. Returns false if the trace is
// damaged although its checksums are right; reader.problem() then says where. May throw bad_alloc.
[[nodiscard]] bool read_trace_steps(TraceReader& reader, TraceSteps& steps);

}  // namespace vramscope
