// Where else an instant of a process's life is told than in the report that was given.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "reporter/report/trigger.h"

namespace vramscope {

struct Report;

// The last report of the same process beside the one at `path` that was written for the trigger;
// "": none. May throw bad_alloc.
[[nodiscard]] std::string sibling_of(const Report& report, const std::string& path,
                                     Trigger trigger);

// The file of which `vramscope map --at oom` draws what there was when memory last ran out in the
// report's process: itself, one beside it, or its trace; "": none is there. May throw bad_alloc.
[[nodiscard]] std::string map_of_refusal(const Report& report, const std::string& path);

}  // namespace vramscope
