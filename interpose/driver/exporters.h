// Exporters hand memory on to other processes or devices: what they ask for is dedicated, a segment
// of its own.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>

#include "allocator/ground/place.h"
#include "reporter/record/recorder.h"

namespace vramscope {

// Whether an object of this file name (without folder) belongs to a library that exports memory.
[[nodiscard]] bool is_exporter(std::string_view file) noexcept;

// Threads: any. Asks the loader, never while our lock is held.
class Exporters {
 public:
  // everybody: mode dedicated.
  explicit Exporters(bool everybody) noexcept : everybody_(everybody) {}

  // Whether the memory that is asked for by the code at these return addresses, innermost first,
  // must be dedicated: everybody's is after the first export, before that only what an exporting
  // library asks for. `key`, not 0 and below 2^63, stands for the addresses: the stack's tag or
  // hash, or without stacks where the driver was called from.
  [[nodiscard]] bool wants_dedicated(std::span<const std::uintptr_t> frames,
                                     std::uint64_t key) noexcept {
    const std::optional<bool> answer = known(key);
    return answer ? *answer : find_out(frames, key);
  }

  // The answer that stands for `key`, if there is one.
  [[nodiscard]] std::optional<bool> known(std::uint64_t key) const noexcept {
    if (everybody_.load(std::memory_order_relaxed)) return true;
    const std::uint64_t known = known_[key % kKnown].load(std::memory_order_relaxed);
    if (known >> 1 == key && key != 0) [[likely]]
      return (known & 1) != 0;
    return std::nullopt;
  }

  // The program exported memory: what it asks for from now on is dedicated.
  void note_export(Recorder& recorder) noexcept;

 private:
  struct Range {
    std::uintptr_t begin = 0, end = 0;
    bool exports = false;  // else it belongs to CUDA: whoever called it counts
  };
  static constexpr std::size_t kMaxRanges = 128;  // code of such libraries; a job loads about 20
  static constexpr std::size_t kKnown = 4096;     // answers kept; the others are found out again
  struct Loaded {
    std::array<Range, kMaxRanges> ranges;
    std::size_t count = 0;
    std::uint64_t adds = 0, subs = 0;  // objects ever loaded and unloaded
  };

  [[nodiscard]] static Loaded find_loaded() noexcept;
  void refresh() noexcept;
  [[nodiscard]] bool find_out(std::span<const std::uintptr_t> frames, std::uint64_t key) noexcept;
  [[nodiscard]] const Range* range_of(std::uintptr_t address) const noexcept;

  std::atomic<bool> everybody_;
  // Key << 1 | answer, at the key's place. A tag means the same stack for ever; what return
  // addresses mean is forgotten when an object was unloaded.
  std::array<std::atomic<std::uint64_t>, kKnown> known_{};
  std::mutex mutex_;
  Loaded loaded_;
};

}  // namespace vramscope
