// Exporters are libraries that hand memory to other processes or devices. Their requests are
// dedicated: each gets a segment of its own.
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

#include "allocator/base/place.h"
#include "reporter/record/recorder.h"

namespace vramscope {

// Whether a file name (without folder) is that of a library that exports memory.
[[nodiscard]] bool is_exporter(std::string_view file) noexcept;

// Threads: any. It asks the loader, and holds no lock of ours then.
class Exporters {
 public:
  // everybody: true in mode dedicated.
  explicit Exporters(bool everybody) noexcept : everybody_(everybody) {}

  // Whether a request from these return addresses, innermost first, must be dedicated. After the
  // first export all are; before, only those from an exporting library. `key`, from 1 to below
  // 2^63, stands for the addresses: the stack's tag or hash, or, without stacks, the caller of the
  // driver.
  [[nodiscard]] bool wants_dedicated(std::span<const std::uintptr_t> frames,
                                     std::uint64_t key) noexcept {
    const std::optional<bool> answer = known(key);
    return answer ? *answer : find_out(frames, key);
  }

  // Returns the remembered answer for `key`, if there is one.
  [[nodiscard]] std::optional<bool> known(std::uint64_t key) const noexcept {
    if (everybody_.load(std::memory_order_relaxed)) return true;
    const std::uint64_t known = known_[key % kKnown].load(std::memory_order_relaxed);
    if (known >> 1 == key && key != 0) [[likely]]
      return (known & 1) != 0;
    return std::nullopt;
  }

  // Notes that the program exported memory: all later requests are dedicated.
  void note_export(Recorder& recorder) noexcept;

 private:
  struct Range {
    std::uintptr_t begin = 0, end = 0;
    bool exports = false;  // false: it belongs to CUDA, and its caller counts
  };
  static constexpr std::size_t kMaxRanges = 128;  // code of such libraries; a job loads about 20
  static constexpr std::size_t kKnown = 4096;     // remembered answers
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
  // Key << 1 | answer, at the key's index. A tag means the same stack for ever. Answers for
  // addresses are forgotten when an object is unloaded.
  std::array<std::atomic<std::uint64_t>, kKnown> known_{};
  std::mutex mutex_;
  Loaded loaded_;
};

}  // namespace vramscope
