// TraceWalk says which memory comes and goes, with its address and age.
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
  std::uint64_t number = 0;      // of this allocation among all, from 1 on
};

// Blocks of memory that passes and that the process holds: no views and reservations. Threads: one.
// May throw bad_alloc.
class TraceWalk final : public TraceObserver {
 public:
  // Of what comes or goes. now_ns: of the event, after time 0; never goes back among those that
  // pass. An event that does not pass ends a block where it brings memory to its address.
  using OnChange = std::function<void(const WalkedBlock&, const FollowedEvent&,
                                      std::uint64_t now_ns, bool came)>;
  // Of each that passes, before what it does.
  using OnEvent = std::function<void(const TraceEvent&)>;

  explicit TraceWalk(OnChange change, OnEvent event = {})
      : change_(std::move(change)), event_(std::move(event)) {}

  void event(const FollowedEvent& now) override;
  void came(const TraceBlock& block, const FollowedEvent& now) override;
  void went(const TraceBlock& block, const FollowedEvent& now, TraceMemory::End how) override;

  // Those that are live at the end, by slot.
  [[nodiscard]] std::vector<WalkedBlock> live() const;

 private:
  const OnChange change_;
  const OnEvent event_;
  std::vector<WalkedBlock> blocks_;  // by slot; bytes of a dead one stay, its number is 0
  std::uint64_t now_ns_ = 0;
  std::uint64_t number_ = 0;
};

}  // namespace vramscope
