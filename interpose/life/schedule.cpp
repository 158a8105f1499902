// SPDX-License-Identifier: Apache-2.0
#include "interpose/life/schedule.h"

#include <algorithm>
#include <cstddef>

namespace vramscope {
namespace {

std::uint64_t until(std::uint64_t end, std::uint64_t now) noexcept {
  return end > now ? end - now : 0;
}

std::uint64_t live_in(const DeviceUses& use) noexcept {
  std::uint64_t live = 0;
  for (const DeviceUse& device : use) live += device.live_bytes;
  return live;
}

}  // namespace

std::uint64_t Schedule::wait_ns(std::uint64_t now_ns) const noexcept {
  const std::uint64_t look = looks_at_memory() ? until(look_end_, now_ns) : kForever;
  const bool has_interval = interval_ns_.load(std::memory_order_relaxed) != 0;
  return has_interval ? std::min(look, until(interval_end_, now_ns)) : look;
}

void Schedule::every(std::uint64_t interval_ns, std::uint64_t now_ns) noexcept {
  interval_end_ = now_ns + interval_ns;
  interval_ns_.store(interval_ns, std::memory_order_relaxed);
}

const char* Schedule::due(std::uint64_t now_ns, const DeviceUses& use) noexcept {
  look_end_ = now_ns + kLookNs;
  if (has_grown(use)) {
    grown_from_.store(live_in(use), std::memory_order_relaxed);
    return "growth";
  }
  const bool found = is_peak(use);
  // A new peak of any device updates the peaks of all. Peaks fall when the program resets them.
  for (std::size_t i = 0; i < use.size(); ++i) {
    const std::uint64_t known = peaks_[i].load(std::memory_order_relaxed);
    const std::uint64_t now = found ? use[i].peak_bytes : std::min(known, use[i].peak_bytes);
    peaks_[i].store(now, std::memory_order_relaxed);
  }
  if (found) return "peak";
  const std::uint64_t interval_ns = interval_ns_.load(std::memory_order_relaxed);
  if (interval_ns == 0 || now_ns < interval_end_) return nullptr;
  // Intervals that were missed, because a report took long or the machine slept, are skipped.
  const std::uint64_t late = now_ns - interval_end_;
  interval_end_ += (late / interval_ns + 1) * interval_ns;
  return "interval";
}

void Schedule::note_told(std::string_view trigger, const DeviceUses& use) noexcept {
  if (trigger == "growth") {
    grown_from_.store(std::max(grown_from_.load(std::memory_order_relaxed), live_in(use)),
                      std::memory_order_relaxed);
  }
  for (std::size_t i = 0; trigger == "peak" && i < use.size(); ++i) {
    peaks_[i].store(std::max(peaks_[i].load(std::memory_order_relaxed), use[i].peak_bytes),
                    std::memory_order_relaxed);
  }
}

bool Schedule::has_grown(const DeviceUses& use) const noexcept {
  if (growth_bytes() == 0) return false;
  const std::uint64_t live = live_in(use);
  const std::uint64_t before = grown_from_.load(std::memory_order_relaxed);
  return live >= before && live - before >= growth_bytes();
}

bool Schedule::is_peak(const DeviceUses& use) const noexcept {
  const std::uint64_t percent = peak_percent();
  if (percent == 0) return false;
  for (std::size_t i = 0; i < use.size(); ++i) {
    const std::uint64_t peak = use[i].peak_bytes;
    const std::uint64_t known = std::min(peaks_[i].load(std::memory_order_relaxed), peak);
    const std::uint64_t more = known / 100 * percent;
    if (peak >= kLeastPeak && peak > known && peak - known >= more) return true;
  }
  return false;
}

}  // namespace vramscope
