// TraceWalk passes on the memory that is allocated and freed, with its address and age.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "reporter/view/analysis/replay/trace_follower.h"

namespace vramscope {

struct WalkedBlock : TraceBlock {
  std::uint64_t born_at_ns = 0;  // by the clock of now_ns
  std::uint64_t number = 0;      // number of the allocation among all, from 1
};

// Covers blocks of memory that passes and that the process holds: no views and reservations.
// Threads: one. May throw bad_alloc.
class TraceWalk final : public TraceObserver {
 public:
  // Is called for each allocation and free. now_ns: of the event, after time 0; never decreases
  // among events that pass. An event that does not pass ends a block if it allocates memory at its
  // address.
  using OnChange = std::function<void(const WalkedBlock&, const FollowedEvent&,
                                      std::uint64_t now_ns, bool came)>;
  // Is called for each event that passes, before its effect.
  using OnEvent = std::function<void(const TraceEvent&)>;

  explicit TraceWalk(OnChange change, OnEvent event = {})
      : change_(std::move(change)), event_(std::move(event)) {}

  void event(const FollowedEvent& now) override;
  void came(const TraceBlock& block, const FollowedEvent& now) override;
  void went(const TraceBlock& block, const FollowedEvent& now, TraceMemory::End how) override;

  // Returns the blocks that are live at the end, by slot.
  [[nodiscard]] std::vector<WalkedBlock> live() const;

 private:
  const OnChange change_;
  const OnEvent event_;
  std::vector<WalkedBlock> blocks_;  // by slot; a dead block keeps its bytes, and has number 0
  std::uint64_t now_ns_ = 0;
  std::uint64_t number_ = 0;
};

}  // namespace vramscope
