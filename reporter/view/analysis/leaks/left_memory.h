// left_shares() and left_by_each() tell what each process of a merged report never freed, without
// what stays by design.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "reporter/report/report.h"

namespace vramscope {

class KeptMemory;

// A process left at least and at most so many bytes. A merged report names only its 32 largest
// places: of the others nobody knows how much stays by design.
struct LeftBytes {
  std::uint64_t least = 0;
  std::uint64_t most = 0;
};

// By process: MergedProcess::live of known places, without what stays by design.
using LeftShares = std::vector<std::vector<LiveShare>>;
// May throw bad_alloc.
[[nodiscard]] LeftShares left_shares(const Report& report, KeptMemory& kept);

// all: the bytes that all processes left together. Returns nothing for a report of one process, or
// without the data. May throw bad_alloc.
[[nodiscard]] std::vector<LeftBytes> left_by_each(const Report& report, const LeftShares& shares,
                                                  std::uint64_t all);

}  // namespace vramscope
