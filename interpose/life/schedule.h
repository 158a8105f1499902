// Schedule says which reports are due by themselves: at an interval, when memory has grown, at a
// peak of it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

#include "allocator/ground/place.h"
#include "allocator/ground/snapshot.h"

namespace vramscope {

using DeviceUses = std::array<DeviceUse, kMaxDevices>;

// Threads: one, but for wants(), which any may ask.
class Schedule {
 public:
  // What was asked for; 0: not that.
  struct Wishes {
    std::uint64_t interval_ns = 0;
    std::uint64_t growth_bytes = 0;
    std::uint64_t peak_percent = 0;
  };
  static constexpr std::uint64_t kLookNs = 100'000'000;  // memory is looked at so often
  static constexpr std::uint64_t kForever = ~std::uint64_t{0};
  static constexpr std::uint64_t kLeastPeak = 1 << 20;  // lower ones are nobody's concern

  // The interval begins at `now_ns`, on a clock that never falls.
  Schedule(Wishes wishes, std::uint64_t now_ns) noexcept
      : wishes_(wishes), interval_end_(now_ns + wishes.interval_ns), look_end_(now_ns) {}

  // Whether a trigger is one of those that due() gives.
  [[nodiscard]] static bool asks(std::string_view trigger) noexcept {
    return trigger == "growth" || trigger == "peak" || trigger == "interval";
  }
  // Whether `use` calls for a report that due() has not given yet.
  [[nodiscard]] bool wants(const DeviceUses& use) const noexcept {
    return has_grown(use) || is_peak(use);
  }
  [[nodiscard]] bool looks_at_memory() const noexcept {
    return wishes_.growth_bytes != 0 || wishes_.peak_percent != 0;
  }
  // How long there is nothing to ask; kForever where nothing was wished.
  [[nodiscard]] std::uint64_t wait_ns(std::uint64_t now_ns) const noexcept;

  // What `use` and the time call for: "growth", "peak" or "interval", and the same again only when
  // it is due again; null: nothing. Ask until null.
  [[nodiscard]] const char* due(std::uint64_t now_ns, const DeviceUses& use) noexcept;
  // What the report for such a trigger tells: more than what called for it, when memory grew
  // meanwhile.
  void note_told(std::string_view trigger, const DeviceUses& use) noexcept;

 private:
  [[nodiscard]] bool has_grown(const DeviceUses& use) const noexcept;
  [[nodiscard]] bool is_peak(const DeviceUses& use) const noexcept;

  const Wishes wishes_;
  std::uint64_t interval_end_;
  std::uint64_t look_end_;
  std::atomic<std::uint64_t> grown_from_{0};  // live bytes at the last report on growth
  std::array<std::atomic<std::uint64_t>, kMaxDevices> peaks_{};  // at the last report on a peak
};

}  // namespace vramscope
