// TraceMemory says which memory each event of a trace brings and which it ends; TraceSteps is all
// of that as a sequence that can be played again.
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
  std::uint32_t slot = 0;   // its number while it lives: no other live one has it, dead ones had
  bool direct = false;      // by the driver itself, not by our allocator
  bool passes = true;       // the filter of whoever follows the trace
  Address address = 0;
  std::uint64_t born_ns = 0;  // when its call began, by the clock of the events
};

// Takes events in the order by_change. Threads: one. May throw bad_alloc.
class TraceMemory {
 public:
  enum class End : bool { freed, lost };  // lost: with its place, a context that ended

  class Changes {
   public:
    virtual ~Changes() = default;
    virtual void came(const TraceBlock& block, const Event& event) = 0;
    virtual void went(const TraceBlock& block, End how) = 0;
  };

  // passes: what is told of memory that comes.
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

  std::unordered_map<Key, TraceBlock, KeyHash> served_;  // by our allocator: they never overlap
  std::map<Key, TraceBlock> direct_;
  std::vector<std::uint32_t> unused_slots_;
  std::uint32_t slots_ = 0;  // ever given out
};

// What a program asked of memory, without its addresses: blocks are known by slots.
struct TraceStep {
  enum class What : std::uint8_t { came, freed, lost };
  What what = What::came;
  Place place;
  std::uint32_t slot = 0;
  std::uint64_t bytes = 0;  // requested; that of the block that ends
};

struct TraceSteps {
  std::vector<TraceStep> steps;
  std::uint32_t slots = 0;  // every slot is below
};

// All that a trace did to memory, in the order in which it happened. False: it is damaged although
// its checksums are right; reader.problem() says where. May throw bad_alloc.
[[nodiscard]] bool read_trace_steps(TraceReader& reader, TraceSteps& steps);

}  // namespace vramscope
