// check_between() is check --between: what is held from one instant of a trace to another.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "reporter/view/command/verb.h"
#include "reporter/view/text/between_text.h"

namespace vramscope {

struct BetweenArguments {
  const std::vector<std::string>& files;     // traces, or reports whose traces are there
  const std::vector<std::string>& instants;  // two
  BetweenLimits limits;
  Listing& listing;
  const Filter& filter;
  const Reading& reading;
};

// Gives the exit code.
[[nodiscard]] int check_between(const BetweenArguments& given);

}  // namespace vramscope
