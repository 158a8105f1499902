// call_program() sends a request to the helper thread of a running program, and returns its answer.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "reporter/report/live/control_protocol.h"
#include "reporter/view/system/running.h"

namespace vramscope {

struct ControlOutcome {
  // Why the helper thread was not reached, so that nothing was done: one line; "": it was.
  std::string unreachable = {};
  std::vector<std::string> parts = {};  // the lines of the answer before the last one
  ControlReply reply = {};
};

// Rings by the live file of the process, and talks over the socket that the process then makes. It
// trusts neither: what they hold is checked, and no wait is without limit. Sends no signal. May
// throw bad_alloc.
[[nodiscard]] ControlOutcome call_program(const RunningProcess& process,
                                          const ControlRequest& request);

}  // namespace vramscope
