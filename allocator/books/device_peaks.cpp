// SPDX-License-Identifier: Apache-2.0
#include "allocator/books/device_peaks.h"

#include "allocator/base/call_time.h"
#include "allocator/base/fault.h"
#include "allocator/base/publish.h"

namespace vramscope {

void DevicePeaks::begin(OfDevice& joint, Kind first, const PeakLevel& level) noexcept {
  static_cast<PeakLevel&>(joint) = level;
  joint.peak = 1;
  joint.first = first;
  publish_all(joint.state, OfDevice::State::known);
}

bool DevicePeaks::put_aside(OfDevice& joint, Kind kind, Tag tag, Amount before) noexcept {
  if (tag != 0 && !tags_.grow_to(std::size_t{tag} + 1)) {
    joint.state = OfDevice::State::lost;
    return false;
  }
  AtPeak& held = tag == 0 ? joint.unknown[static_cast<std::size_t>(kind)] : tags_[tag];
  if (held.peak == joint.peak) return true;
  held.amount = before;
  publish_all(held.peak, joint.peak);
  return true;
}

void DevicePeaks::came(OfDevice& joint, Kind kind, Tag tag, Amount before,
                       std::uint64_t bytes) noexcept {
  if (!joint.is_known() || !put_aside(joint, kind, tag, before)) return;
  joint.below -= static_cast<std::int64_t>(bytes);
  if (joint.below >= 0 || fault(Fault::peak_missed)) return;
  joint.set_peak();
  joint.peak_ns = call_time_ns;
  joint.peak_tag = tag;
}

void DevicePeaks::went(OfDevice& joint, Kind kind, Tag tag, Amount before,
                       std::uint64_t bytes) noexcept {
  if (!joint.is_known() || !put_aside(joint, kind, tag, before)) return;
  joint.below += static_cast<std::int64_t>(bytes);
}

void DevicePeaks::reset() noexcept {
  for (OfDevice& joint : devices_) joint.set_peak();
}

}  // namespace vramscope
