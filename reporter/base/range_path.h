// range_path() names a range of NVTX with those that enclose it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "reporter/base/axes.h"

namespace vramscope {

// Returns "epoch/forward", or with a domain other than the default one "nccl:ncclAllReduce"; "" for
// 0 and for a number that is no range's. Parents have smaller numbers, and at most 32 ranges lie in
// one another: the path ends where a damaged file says otherwise. May throw bad_alloc.
[[nodiscard]] inline std::string range_path(const std::vector<RangeFact>& ranges,
                                            std::uint32_t range) {
  constexpr std::size_t kDeepest = 32;  // RangeTable::kMaxDepth
  std::string path;
  for (std::size_t i = 0; range != 0 && range < ranges.size() && i < kDeepest; ++i) {
    const RangeFact& fact = ranges[range];
    const std::string name = fact.domain.empty() ? fact.name : fact.domain + ":" + fact.name;
    path = path.empty() ? name : name + "/" + path;
    if (fact.parent >= range) break;
    range = fact.parent;
  }
  return path;
}

}  // namespace vramscope
