// How often memory ran out, in the words of every listing.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "allocator/ground/statistics.h"

namespace vramscope {

struct Report;

// Of one device: "out of memory 2 times; cache emptied to retry 3 times"; "": neither.
[[nodiscard]] std::string trouble_text(const DeviceStatistics& stats);

// "out of memory 2 times" or "1 more refusal of other memory": those that no device counts, since
// they were of other memory than plain device memory, or the report is of before that; "": none.
[[nodiscard]] std::string other_refusals(const Report& report);

}  // namespace vramscope
