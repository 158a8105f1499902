// Ages says when the live blocks of a site were allocated, and in which part of the run.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "reporter/report/parts.h"
#include "reporter/report/report.h"

namespace vramscope {

// Ages are numbers of allocations, not times: they do not depend on how fast the program ran or how
// long it waited.
class Ages {
 public:
  // The parts outlive this object and do not change. May throw bad_alloc.
  explicit Ages(const ReportParts& parts);
  [[nodiscard]] bool counts(const BlockSnapshot& block) const {
    return block.born != 0 && block.born <= allocations_ &&
           block.state == BlockState::active_allocated;
  }
  // Sets the ages in `site` from all of its live blocks, for each of which counts() is true. Sorts
  // the blocks. May throw bad_alloc.
  void add(std::vector<const BlockSnapshot*>& blocks, Site& site) const;

 private:
  void add(const BlockSnapshot& block, std::vector<std::uint64_t>& ages) const;

  void add_range(const std::vector<const BlockSnapshot*>& blocks, Site& site) const;
  void add_mark(const std::vector<const BlockSnapshot*>& blocks, Site& site) const;

  const ReportParts& parts_;
  std::uint64_t allocations_ = 0;
  std::vector<std::uint64_t> births_ = {};  // the numbers of the allocations of all live blocks, in
                                            // order
};

// Sets the ages of live blocks in each site.
void add_ages(const ReportParts& parts, const std::vector<std::int64_t>& site_of_tag,
              std::vector<Site>& sites);

}  // namespace vramscope
