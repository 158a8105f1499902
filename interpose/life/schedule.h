// Schedule says which automatic reports are due: at an interval, after growth of memory, at a peak
// of memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

#include "allocator/base/place.h"
#include "allocator/base/snapshot.h"

namespace vramscope {

using DeviceUses = std::array<DeviceUse, kMaxDevices>;

// Threads: one; wants(), looks_at_memory() and wait_ns(0): any.
class Schedule {
 public:
  // The requested schedules; 0: none.
  struct Wishes {
    std::uint64_t interval_ns = 0;
    std::uint64_t growth_bytes = 0;
    std::uint64_t peak_percent = 0;
  };
  static constexpr std::uint64_t kLookNs = 100'000'000;  // how often memory is checked
  static constexpr std::uint64_t kForever = ~std::uint64_t{0};
  static constexpr std::uint64_t kLeastPeak = 1 << 20;  // lower peaks are ignored

  // The interval begins at `now_ns`, on a clock that never falls.
  Schedule(Wishes wishes, std::uint64_t now_ns) noexcept
      : growth_bytes_(wishes.growth_bytes),
        peak_percent_(wishes.peak_percent),
        interval_ns_(wishes.interval_ns),
        interval_end_(now_ns + wishes.interval_ns),
        look_end_(now_ns) {}

  // Change a wish; 0: none. An interval begins now.
  void every(std::uint64_t interval_ns, std::uint64_t now_ns) noexcept;
  void on_growth(std::uint64_t bytes) noexcept {
    growth_bytes_.store(bytes, std::memory_order_relaxed);
  }
  void at_peak(std::uint64_t percent) noexcept {
    peak_percent_.store(percent, std::memory_order_relaxed);
  }

  // Whether a trigger is one that due() returns.
  [[nodiscard]] static bool asks(std::string_view trigger) noexcept {
    return trigger == "growth" || trigger == "peak" || trigger == "interval";
  }
  // Whether `use` requires a report that due() has not returned yet.
  [[nodiscard]] bool wants(const DeviceUses& use) const noexcept {
    return has_grown(use) || is_peak(use);
  }
  [[nodiscard]] bool looks_at_memory() const noexcept {
    return growth_bytes() != 0 || peak_percent() != 0;
  }
  // Returns for how many nanoseconds nothing can be due; kForever if no schedule was requested.
  [[nodiscard]] std::uint64_t wait_ns(std::uint64_t now_ns) const noexcept;

  // Returns a due trigger, "growth", "peak" or "interval", or null. A trigger is returned again
  // only when it is due again. Call it until it returns null.
  [[nodiscard]] const char* due(std::uint64_t now_ns, const DeviceUses& use) noexcept;
  // Notes the use that the report for a trigger shows, which may have grown since the trigger.
  void note_told(std::string_view trigger, const DeviceUses& use) noexcept;

 private:
  [[nodiscard]] bool has_grown(const DeviceUses& use) const noexcept;
  [[nodiscard]] bool is_peak(const DeviceUses& use) const noexcept;

  [[nodiscard]] std::uint64_t growth_bytes() const noexcept {
    return growth_bytes_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t peak_percent() const noexcept {
    return peak_percent_.load(std::memory_order_relaxed);
  }

  std::atomic<std::uint64_t> growth_bytes_;
  std::atomic<std::uint64_t> peak_percent_;
  std::atomic<std::uint64_t> interval_ns_;
  std::uint64_t interval_end_;
  std::uint64_t look_end_;
  std::atomic<std::uint64_t> grown_from_{0};  // live bytes at the last report on growth
  std::array<std::atomic<std::uint64_t>, kMaxDevices> peaks_{};  // at the last report on a peak
};

}  // namespace vramscope
