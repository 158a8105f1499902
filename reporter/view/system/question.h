// ask_for_report() has a running program write a report, by the signal that it listens for.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>

namespace vramscope {

struct Question {
  pid_t pid = 0;
  int signal = 0;             // 0: the one that the process was started with
  unsigned wait_seconds = 0;  // 0: it is asked, and not waited for
};

struct ReportReply {
  std::string report;   // path; "" when it was not waited for
  std::string problem;  // one line on why there is none; "" when there is
};

// `hint` is told, before the wait, what else the signal does.
[[nodiscard]] ReportReply ask_for_report(const Question& question,
                                         const std::function<void(std::string_view)>& hint);

}  // namespace vramscope
