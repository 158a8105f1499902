// SPDX-License-Identifier: Apache-2.0
#include "interpose/life/schedule.h"

#include <algorithm>
#include <cstddef>

namespace vramscope {
namespace {

std::uint64_t until(std::uint64_t end, std::uint64_t now) noexcept {
  return end > now ? end - now : 0;
}

}  // namespace

std::uint64_t Schedule::wait_ns(std::uint64_t now_ns) const noexcept {
  const std::uint64_t look = looks_at_memory() ? until(look_end_, now_ns) : kForever;
  return wishes_.interval_ns == 0 ? look : std::min(look, until(interval_end_, now_ns));
}

const char* Schedule::due(std::uint64_t now_ns, const DeviceUses& use) noexcept {
  look_end_ = now_ns + kLookNs;
  if (has_grown(use)) return "growth";
  if (is_peak(use)) return "peak";
  if (wishes_.interval_ns == 0 || now_ns < interval_end_) return nullptr;
  // What was missed, by a report that took long or a machine that slept, is not caught up with.
  const std::uint64_t late = now_ns - interval_end_;
  interval_end_ += (late / wishes_.interval_ns + 1) * wishes_.interval_ns;
  return "interval";
}

bool Schedule::has_grown(const DeviceUses& use) noexcept {
  if (wishes_.growth_bytes == 0) return false;
  std::uint64_t live = 0;
  for (const DeviceUse& device : use) live += device.live_bytes;
  if (live < grown_from_ || live - grown_from_ < wishes_.growth_bytes) return false;
  grown_from_ = live;
  return true;
}

// Of any device; then the peaks of all are known. Peaks fall when the program resets them.
bool Schedule::is_peak(const DeviceUses& use) noexcept {
  if (wishes_.peak_percent == 0) return false;
  bool found = false;
  for (std::size_t i = 0; i < use.size(); ++i) {
    peaks_[i] = std::min(peaks_[i], use[i].peak_bytes);
    const std::uint64_t more = peaks_[i] / 100 * wishes_.peak_percent;
    found = found || (use[i].peak_bytes >= kLeastPeak && use[i].peak_bytes > peaks_[i] &&
                      use[i].peak_bytes - peaks_[i] >= more);
  }
  for (std::size_t i = 0; found && i < use.size(); ++i) peaks_[i] = use[i].peak_bytes;
  return found;
}

}  // namespace vramscope
