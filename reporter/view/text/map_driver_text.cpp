// Looks at the device of a place.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/map_driver_text.h"

#include <algorithm>

#include "reporter/report/report.h"
#include "reporter/view/text/digest.h"
#include "reporter/view/text/format.h"

namespace vramscope {
namespace {

const DeviceFacts* device_of(const Report& report, const MapPlace& place) {
  for (const DeviceReport& device : report.devices) {
    if (device.facts.index == place.device) return &device.facts;
  }
  return nullptr;
}

}  // namespace

std::string kept_by_pools(const Report& report, const MapPlace& place) {
  const DeviceFacts* const device = device_of(report, place);
  if (device == nullptr || device->pool_bytes == 0) return "";
  return ", and keep " + amount_text(device->pool_bytes) + " that was freed";
}

std::string new_segment_text(const Report& report, const MapPlace& place, const MapMoment& moment) {
  if (place.kind != Kind::device || place.is_direct() || moment.is_of_trace || moment.refused ||
      adds_peaks(report)) {
    return "";
  }
  const DeviceFacts* const device = device_of(report, place);
  const bool is_asked = device != nullptr && (device->free_bytes | device->free_bytes_age_ns) != 0;
  if (!is_asked) return "";
  std::string text =
      "in a new segment: what the driver has, " + amount_text(device->free_bytes) + " free";
  if (device->free_bytes_age_ns != 0)
    text += " " + duration_text(device->free_bytes_age_ns) + " before";
  if (place.returnable_bytes != 0) {
    text += ", and " + amount_text(place.returnable_bytes) + " that goes back";
  }
  return text;
}

}  // namespace vramscope
