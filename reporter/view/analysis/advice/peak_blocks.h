// PeakBlocks are the blocks that are live when a device holds most, and what becomes of them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "reporter/view/analysis/replay/trace_follower.h"

namespace vramscope {

// When a device held most, all kinds of its memory together. Threads: one.
class PeakInstant final : public TraceObserver {
 public:
  struct Found {
    std::uint16_t device = 0;
    std::uint64_t bytes = 0;
    std::uint64_t event = 0;  // number of the event that made it
    std::uint64_t at_ns = 0;
    Tag tag = 0;  // that made it
  };

  void event(const FollowedEvent& now) override;
  void came(const TraceBlock& block, const FollowedEvent& now) override;
  void went(const TraceBlock& block, const FollowedEvent& now, TraceMemory::End how) override;

  // Whether an allocation failed.
  [[nodiscard]] bool has_refusal() const { return has_refusal_; }
  // Of the device with the highest peak; bytes is 0 if nothing was allocated.
  [[nodiscard]] Found highest() const;

 private:
  struct OfDevice {
    std::uint64_t live = 0;
    Found peak = {};
  };
  std::map<std::uint16_t, OfDevice> devices_;
  bool has_refusal_ = false;
};

// Threads: one.
class PeakBlocks final : public TraceObserver {
 public:
  struct Block {
    Tag tag = 0;
    Kind kind = Kind::device;
    std::uint64_t bytes = 0;
    bool is_freed = false;          // after the peak, and not at the end of its context
    bool is_followed = false;       // the program allocated on the device after that
    std::uint64_t allocations = 0;  // on the device before it was freed
  };

  explicit PeakBlocks(const PeakInstant::Found& peak) : peak_(peak) {}
  void came(const TraceBlock& block, const FollowedEvent& now) override;
  void went(const TraceBlock& block, const FollowedEvent& now, TraceMemory::End how) override;
  // Must be called after the last event.
  void finish();

  [[nodiscard]] const std::vector<Block>& blocks() const { return blocks_; }
  // By tag: the time of its last allocation on the device before the peak, and the number of
  // allocations that came later, up to the peak.
  struct LastAllocation {
    std::uint64_t at_ns = 0;
    std::uint64_t number = 0;
  };
  [[nodiscard]] const std::map<Tag, LastAllocation>& last() const { return last_; }
  [[nodiscard]] std::uint64_t allocations_until_peak() const { return until_peak_; }
  [[nodiscard]] std::uint64_t allocations() const { return allocations_; }

 private:
  [[nodiscard]] bool counts(const TraceBlock& block) const;

  const PeakInstant::Found peak_;
  bool is_past_ = false;
  std::uint64_t allocations_ = 0;
  std::uint64_t until_peak_ = 0;
  std::vector<TraceBlock> live_;                  // by slot, until the peak; bytes 0: dead
  std::map<std::uint32_t, std::size_t> at_peak_;  // indices into blocks_, by slot
  std::vector<Block> blocks_;
  std::map<Tag, LastAllocation> last_;
};

}  // namespace vramscope
