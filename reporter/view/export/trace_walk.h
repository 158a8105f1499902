// TraceWalk goes through a trace and says which memory comes and goes, with its address and age.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "reporter/view/export/exported.h"

namespace vramscope {

struct WalkedBlock {
  Place place;
  Tag tag = 0;
  std::uint64_t bytes = 0;  // requested
  Address address = 0;
  std::uint64_t born_ns = 0;  // by the clock of now_ns
  std::uint64_t number = 0;   // of this allocation among all, from 1 on
};

// Blocks of memory that passes and that the process holds: no views and reservations. Memory of
// TraceWalk follows from what lives at a time. Threads: one. May throw bad_alloc.
class TraceWalk : private TraceMemory::Changes {
 public:
  struct Visitor {
    std::function<void(const WalkedBlock&, const TraceEvent&)> came;
    std::function<void(const WalkedBlock&, const TraceEvent&)> went;
    std::function<void(const TraceEvent&)> event = {};  // every one, before what it does
  };

  TraceWalk(const Exported& exported, Visitor visitor)
      : exported_(exported), visitor_(std::move(visitor)) {}

  // "", or what is wrong with the trace.
  [[nodiscard]] std::string run();

  // Of the present event, after the trace's first; never goes back, also where threads overlapped.
  [[nodiscard]] std::uint64_t now_ns() const { return now_ns_; }
  // Those that are live at the end, by slot.
  [[nodiscard]] std::vector<WalkedBlock> live() const;

 private:
  void came(const TraceBlock& block, const Event& event) override;
  void went(const TraceBlock& block, TraceMemory::End how) override;
  [[nodiscard]] static bool wants(const TraceBlock& block);

  const Exported& exported_;
  Visitor visitor_;
  TraceMemory memory_;
  std::vector<WalkedBlock> blocks_;  // by slot; bytes of a dead one stay, its number is 0
  const TraceEvent* event_ = nullptr;
  std::uint64_t start_ns_ = 0;
  std::uint64_t now_ns_ = 0;
  std::uint64_t number_ = 0;
};

}  // namespace vramscope
