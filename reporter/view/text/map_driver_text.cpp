// Looks at the device of a place.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/map_driver_text.h"

#include "reporter/view/listing/format.h"

namespace vramscope {

std::string kept_by_pools(const PlaceAnswer& of) {
  if (of.kept_by_pools == 0) return "";
  return " and keep " + amount_text(of.kept_by_pools) + " beyond live memory";
}

std::string new_segment_text(const PlaceAnswer& of) {
  if (!of.free) return "";
  std::string text = "in a new segment: what the driver has free (" + amount_text(of.free->bytes);
  if (of.free->age_ns != 0) {  // the past is not the present
    text += ", measured " + duration_text(of.free->age_ns) + " earlier";
    if (of.free->back_since != 0)
      text += ", " + amount_text(of.free->back_since) + " released since";
    if (of.free->taken_since != 0)
      text += ", " + amount_text(of.free->taken_since) + " taken since";
  }
  text += ")";
  if (of.place->returnable_bytes != 0) {
    text += ", plus " + amount_text(of.place->returnable_bytes) + " that the cache can release";
  }
  return text;
}

}  // namespace vramscope
