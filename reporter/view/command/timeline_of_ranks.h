// show_ranks() lays the memory of several processes over each other.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "reporter/view/analysis/ranks_over_time.h"
#include "reporter/view/command/verb.h"
#include "reporter/view/listing/plot.h"

namespace vramscope {

struct RanksLook {
  RanksChoice choice = {};  // but its steps
  Scale scale = Scale::automatic;
  bool ascii = false;
};
// Of reports, each process once. Gives the exit code.
[[nodiscard]] int show_ranks(const OneReport& given, const std::vector<std::string>& paths,
                             const RanksLook& look);

// Lines that one screen has; LINES, as COLUMNS, is believed first.
[[nodiscard]] std::size_t screen_lines(const Listing& listing);

}  // namespace vramscope
