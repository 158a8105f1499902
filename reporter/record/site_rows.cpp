// Unpacks the rows of sites and tags.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/record/site_rows.h"

namespace vramscope {

SiteFact SiteRows::site(std::uint32_t index) const {
  SiteFact fact;
  std::size_t depth = 0;
  for (std::uint32_t at = sites[index]; at != 0; at = nodes[at].parent) ++depth;
  fact.frames.reserve(depth);
  for (std::uint32_t at = sites[index]; at != 0; at = nodes[at].parent) {
    fact.frames.push_back(nodes[at].frame);
  }
  return fact;
}

AxisValues SiteRows::values_of(const TagRow& row) {
  return {row.owner, row.thread, row.stream, row.range, row.function, row.size_class};
}

TagFact SiteRows::tag(Tag tag) const {
  const TagRow& row = tags[tag];
  return {.site = row.site,
          .place = {.kind = row.kind, .device = row.device, .context = 0},
          .values = values_of(row),
          .groups = row.groups,
          .sampling = row.sampling};
}

}  // namespace vramscope
