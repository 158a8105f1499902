// Answers of the control socket that take more than one piece, or more than one instant.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "allocator/base/snapshot.h"
#include "interpose/life/control_client.h"

namespace vramscope {

// Waits for what a thread of the program must do.
class PostedAnswer final : public ControlAnswer {
 public:
  // is_done: whether it was done. done, waits: make the line for either end.
  struct Parts {
    std::function<bool()> is_done;
    std::function<std::string()> done;
    std::function<std::string()> waits;
  };
  PostedAnswer(Parts parts, std::uint64_t until_ns)
      : parts_(std::move(parts)), until_ns_(until_ns) {}
  [[nodiscard]] Next next(std::string& text) override;

 private:
  const Parts parts_;
  const std::uint64_t until_ns_;
};

// A line for each segment of device memory, in the form of torch.cuda.memory_snapshot().
class SnapshotAnswer final : public ControlAnswer {
 public:
  // is_alone: set while this lives. A snapshot may be large, so there is one at a time.
  SnapshotAnswer(Snapshot snapshot, std::atomic<bool>& is_alone);
  ~SnapshotAnswer() override { is_alone_.store(false); }
  SnapshotAnswer(const SnapshotAnswer&) = delete;
  SnapshotAnswer& operator=(const SnapshotAnswer&) = delete;
  [[nodiscard]] Next next(std::string& text) override;

 private:
  void add_blocks(std::string& text, const SegmentSnapshot& segment);

  const Snapshot snapshot_;
  std::atomic<bool>& is_alone_;
  std::size_t segment_ = 0;
  std::size_t block_ = 0;  // of the segment
  std::size_t told_ = 0;   // segments
};

}  // namespace vramscope
