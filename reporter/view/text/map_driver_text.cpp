// Looks at the device of a place.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/map_driver_text.h"

#include "reporter/report/report.h"
#include "reporter/view/analysis/digest.h"
#include "reporter/view/analysis/sampled_free.h"
#include "reporter/view/analysis/subject.h"
#include "reporter/view/listing/format.h"

namespace vramscope {
std::string kept_by_pools(const Report& report, const MapPlace& place) {
  const DeviceReport* const device = find_device(report, place.device);
  if (device == nullptr || device->facts.pool_bytes == 0) return "";
  return ", and keep " + amount_text(device->facts.pool_bytes) + " that was freed";
}

std::string new_segment_text(const Report& report, const MapPlace& place, const MapMoment& moment) {
  if (place.kind != Kind::device || place.is_direct() || moment.is_of_trace || moment.refused ||
      is_of_several(report)) {
    return "";
  }
  const std::optional<SampledFree> free = sampled_free(report, place.device);
  if (!free) return "";
  std::string text = "in a new segment: as much as the driver has";
  if (free->age_ns == 0) {
    text += ", " + amount_text(free->bytes) + " free";
  } else {  // the past is not the present
    text += " (" + amount_text(free->bytes) + " were free " + duration_text(free->age_ns) +
            " before this";
    if (free->back_since != 0) text += ", " + amount_text(free->back_since) + " came back since";
    if (free->taken_since != 0) text += ", " + amount_text(free->taken_since) + " went since";
    text += ")";
  }
  if (place.returnable_bytes != 0) {
    text += ", and " + amount_text(place.returnable_bytes) + " that goes back";
  }
  return text;
}

}  // namespace vramscope
