// What the file of a dead process says of its allocator, beside what the process knew of it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "allocator/base/live_memory.h"
#include "allocator/recovery.h"

namespace vramscope::test {

// What the program knows, in pages that it shares with the test. What a call is about to do is
// written before it, what it did after it, and then the call is complete.
struct ProgramLog {
  static constexpr std::size_t kSlots = 48;
  static constexpr Place kEnding{.kind = Kind::device, .device = 0, .context = 1};
  static constexpr std::uint32_t kOtherCall = kSlots;      // in place of a slot
  static constexpr std::uint32_t kEndsPlace = kSlots + 1;  // forget_place(kEnding)
  static constexpr std::size_t kMostText = std::size_t{1} << 20;
  struct Held {
    Address address = 0;      // 0: nothing
    std::uint64_t bytes = 0;  // asked for, and of the block
    std::uint64_t size = 0;
    Tag tag = 0;
    Place where;
  };
  std::atomic<std::uint64_t> completed{0};
  std::atomic<std::uint32_t> slot{0};   // of the call under way
  std::atomic<std::uint64_t> bytes{0};  // that it asks for; 0: it gives up what is there
  std::array<Held, kSlots> held{};
  std::array<char, kMostText> text{};  // of the last snapshot
};

// The file, mapped where the process had it.
class LiveImage {
 public:
  explicit LiveImage(int file) : file_(file) {}
  ~LiveImage();
  LiveImage(const LiveImage&) = delete;
  LiveImage& operator=(const LiveImage&) = delete;

  // As it is now. Null: nothing has begun.
  [[nodiscard]] const LiveHeader* refresh();
  // Whether any byte is another than when this was asked last; true at first.
  [[nodiscard]] bool has_changed();

 private:
  int file_;
  std::uint64_t base_ = 0;
  std::array<std::uint64_t, kLiveParts> mapped_{};
  std::string seen_;  // what has_changed last saw
};

// Every field, a line each.
[[nodiscard]] std::string text_of(const Snapshot& snapshot);

// What is wrong with a snapshot by itself; empty: nothing.
[[nodiscard]] std::string disagreement(const Snapshot& snapshot);

// How it differs from the log by more than the call under way; empty: it does not.
[[nodiscard]] std::string difference(const Snapshot& snapshot, const ProgramLog& log);

}  // namespace vramscope::test
