// Ages tells of each place when what is live there came, and in which part of the run.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "reporter/report/parts.h"
#include "reporter/report/report.h"

namespace vramscope {

// Ages are numbers of allocations, not times: they stay the same however fast the program ran, and
// however long it waited.
class Ages {
 public:
  // The parts outlive this and do not change. May throw bad_alloc.
  explicit Ages(const ReportParts& parts);
  [[nodiscard]] bool counts(const BlockSnapshot& block) const {
    return block.born != 0 && block.born <= allocations_ &&
           block.state == BlockState::active_allocated;
  }
  // Blocks that count, all of a site; sorts them. May throw bad_alloc.
  void add(std::vector<const BlockSnapshot*>& blocks, Site& site) const;

 private:
  void add(const BlockSnapshot& block, std::vector<std::uint64_t>& ages) const;

  void add_range(const std::vector<const BlockSnapshot*>& blocks, Site& site) const;
  void add_mark(const std::vector<const BlockSnapshot*>& blocks, Site& site) const;

  const ReportParts& parts_;
  std::uint64_t allocations_ = 0;
  std::vector<std::uint64_t> births_ = {};  // of all live blocks, in order
};

// Sets in each site what Ages tells of its live blocks.
void add_ages(const ReportParts& parts, const std::vector<std::int64_t>& site_of_tag,
              std::vector<Site>& sites);

}  // namespace vramscope
