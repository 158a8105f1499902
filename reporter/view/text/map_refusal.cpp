// Compares what was asked for with what was free and with what is stranded.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/map_refusal.h"

#include "reporter/view/analysis/segment_sizes.h"
#include "reporter/view/text/oom_rows.h"

namespace vramscope {

std::string refused_then_text(const PlaceAnswer& of, const MapMoment& moment) {
  if (!of.refused) return "";
  const RefusedThere& refused = *of.refused;
  const OomEvent& event = *moment.refused;
  std::string text = "refused then: " + amount_text(event.bytes);
  if (moment.refusals > 1) {
    text += " (the " + ordinal_text(event.number) + " of " + std::to_string(moment.refusals) + ")";
  }
  if (refused.free) {
    text += refused.limit != 0 ? ", " + amount_text(*refused.free) + " free under the limit of " +
                                     amount_text(refused.limit)
                               : ", the driver had " + amount_text(*refused.free) + " free";
  }
  const std::uint64_t all_stranded = of.place->stranded_bytes;
  if (refused.is_of_stranding) {
    text += "; with the stranded " + amount_text(refused.stranded) + " it would have had enough";
  } else if (refused.stranded < all_stranded) {
    text += "; " + amount_text(all_stranded - refused.stranded) +
            " of what is stranded serve requests above 1.00 MiB only";
  }
  if (refused.is_of_policy) {
    text += "; --policy pytorch asked for a segment of " + amount_text(kLargeSegment) +
            ", --exact-fallback off for none of its size";
  }
  if (refused.native_safe_serves) text += "; --policy native-safe would have served it";
  return text;
}

}  // namespace vramscope
