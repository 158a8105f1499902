// The sites and tags of a SiteTable in packed rows, which are only ever appended.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "allocator/base/appended.h"
#include "reporter/base/facts.h"

namespace vramscope {

// Call stacks are paths in a tree, from its root over the outermost frame to the innermost. Outer
// frames that stacks share are stored once.
struct SiteRows {
  struct Node {
    std::uint32_t frame;
    std::uint32_t parent;  // the node of the calling frame; 0: none
  };
  struct TagRow {
    std::uint32_t site;
    std::uint32_t owner, thread, stream, range;
    Groups groups;
    std::uint16_t function;
    std::uint16_t device;
    std::uint8_t size_class;
    Kind kind;
    Sampling sampling;
  };

  Appended<Node> nodes;           // [0] is the root
  Appended<std::uint32_t> sites;  // the node of the site's innermost frame
  Appended<TagRow> tags;

  [[nodiscard]] SiteFact site(std::uint32_t index) const;
  [[nodiscard]] TagFact tag(Tag tag) const;
  [[nodiscard]] static AxisValues values_of(const TagRow& row);
};

}  // namespace vramscope
