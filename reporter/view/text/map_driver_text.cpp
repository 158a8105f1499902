// Looks at the device of a place.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/map_driver_text.h"

#include "reporter/view/listing/format.h"

namespace vramscope {

std::string kept_by_pools(const PlaceAnswer& of) {
  if (of.kept_by_pools == 0) return "";
  return ", and keep " + amount_text(of.kept_by_pools) + " beyond what is live";
}

std::string new_segment_text(const PlaceAnswer& of) {
  if (!of.free) return "";
  std::string text = "in a new segment: as much as the driver has";
  if (of.free->age_ns == 0) {
    text += ", " + amount_text(of.free->bytes) + " free";
  } else {  // the past is not the present
    text += " (" + amount_text(of.free->bytes) + " were free " + duration_text(of.free->age_ns) +
            " before this";
    if (of.free->back_since != 0)
      text += ", " + amount_text(of.free->back_since) + " came back since";
    if (of.free->taken_since != 0) text += ", " + amount_text(of.free->taken_since) + " went since";
    text += ")";
  }
  if (of.place->returnable_bytes != 0) {
    text += ", and " + amount_text(of.place->returnable_bytes) + " that goes back";
  }
  return text;
}

}  // namespace vramscope
