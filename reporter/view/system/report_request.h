// request_report() makes a running program write a report, by the signal for which it listens.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>

namespace vramscope {

struct ReportRequest {
  pid_t pid = 0;
  int signal = 0;             // 0: the one with which the process was started
  unsigned wait_seconds = 0;  // 0: do not wait for the report
};

struct ReportReply {
  std::string report;   // path; "" without waiting
  std::string problem;  // one line on why there is no report; "": none
};

// hint: receives, before the wait, what else the signal does.
[[nodiscard]] ReportReply request_report(const ReportRequest& request,
                                         const std::function<void(std::string_view)>& hint);

}  // namespace vramscope
