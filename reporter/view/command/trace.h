// show_trace() is what the verb trace does; report does it with filters that only a trace answers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "reporter/view/command/verb.h"

namespace vramscope {

struct TraceArguments {
  std::string file;
  bool partial = false;  // what is damaged or cut off is left out
  StackChoice stacks;
  Listing listing{.json = false, .most = 10, .output = ""};
  Filter filter;
  Reading reading = {};
};

// The exit status; bad input is told in one line.
[[nodiscard]] int show_trace(TraceArguments& arguments);

}  // namespace vramscope
