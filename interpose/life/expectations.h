// Expectations are limits on the memory of a part of the program. The program itself begins and
// ends them (vramscope.h).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "allocator/base/device_watch.h"
#include "allocator/watch.h"

namespace vramscope {

class Profiler;

// In bytes; negative: no limit.
struct ExpectedUse {
  std::int64_t new_bytes = -1;  // most that may be new at one time
  std::int64_t peak_bytes = -1;
  std::int64_t leaked_bytes = -1;  // most that may be new at the end

  [[nodiscard]] bool covers(const DeviceWatch& used) const {
    const auto fits = [](std::int64_t limit, std::uint64_t bytes) {
      return limit < 0 || bytes <= static_cast<std::uint64_t>(limit);
    };
    return fits(new_bytes, used.new_peak_bytes) && fits(peak_bytes, used.peak_bytes) &&
           fits(leaked_bytes, used.new_bytes);
  }
};

// A table of fixed size without a lock, which a fork could leave taken. Threads: any.
class Expectations {
 public:
  static constexpr std::size_t kMostOpen = 256;

  struct Ended {
    ExpectedUse expected;
    DeviceWatch used;
  };

  // Returns the number of a new expectation; 0: kMostOpen are open. It may begin before there is a
  // profiler: then it measures from the start of the profiler on.
  [[nodiscard]] std::uint64_t begin(std::uint16_t device, const ExpectedUse& expected) noexcept;
  // Returns nothing if no expectation of that number is open.
  [[nodiscard]] std::optional<Ended> end(std::uint64_t number) noexcept;
  // Lets those that began before the profiler measure. Called when the profiler is active.
  void attach(Profiler& profiler) noexcept;

 private:
  enum class Stage : std::uint64_t { unused, busy, early, measuring };
  struct Slot {
    std::atomic<std::uint64_t> state{0};  // see state_of()
    std::uint16_t device = 0;
    ExpectedUse expected;
    // Not an object of its type: in a forked child it must not end.
    alignas(CachingAllocator::Watch) std::array<std::byte, sizeof(CachingAllocator::Watch)> watch{};
  };

  // A slot counts its uses, so that an old number is not taken for a new one.
  static constexpr std::uint64_t kStages = 4;
  [[nodiscard]] static constexpr std::uint64_t state_of(std::uint64_t uses, Stage stage) {
    return uses * kStages + static_cast<std::uint64_t>(stage);
  }
  [[nodiscard]] static bool change(Slot& slot, std::uint64_t from, std::uint64_t into) noexcept {
    return slot.state.compare_exchange_strong(from, into);
  }
  static void attach(Slot& slot, Profiler& profiler) noexcept;
  [[nodiscard]] static DeviceWatch end_watch(Slot& slot) noexcept;

  std::array<Slot, kMostOpen> slots_;
};

[[nodiscard]] Expectations& expectations() noexcept;

}  // namespace vramscope
