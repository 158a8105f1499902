// Recovers, asks or copies.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/command/live_report.h"

#include <sys/types.h>

#include <utility>

#include "reporter/view/system/report_request.h"

namespace vramscope {
namespace {

constexpr const char* kCopied = "its tables are copied while it runs";

// The report with which the process answered; "": it did not.
std::string answer_of(std::int64_t pid, unsigned wait_seconds,
                      const std::function<void(std::string_view)>& tell) {
  const ReportRequest request{.pid = static_cast<pid_t>(pid), .wait_seconds = wait_seconds};
  ReportReply reply = request_report(request, tell);
  if (!reply.problem.empty()) tell(reply.problem + "; " + kCopied);
  return std::move(reply.report);
}

}  // namespace

Recovery report_of_live_file(const std::string& path, const AskFirst& how,
                             const std::function<void(std::string_view)>& tell) {
  Recovery found = recover_file(path, {.output = how.output, .is_named = true});
  if (found.result == Recovery::Result::taken) {
    found.problem = "cannot recover '" + path + "': somebody else recovers it";
  }
  if (!found.stays.empty()) tell("'" + path + "' stays: " + found.stays);
  if (found.result != Recovery::Result::alive) return found;
  const bool is_near = owner_of_live_file(path).is_near;
  if (is_near && how.wait_seconds != 0 && how.output.empty()) {
    found.report = answer_of(found.pid, how.wait_seconds, tell);
    found.result = Recovery::Result::recovered;
    if (!found.report.empty()) return found;
  }
  return recover_file(path, {.alive_too = true, .output = how.output, .is_named = true});
}

}  // namespace vramscope
