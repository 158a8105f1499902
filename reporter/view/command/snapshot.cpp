// vramscope snapshot: asks a running program for a report and waits for it.
// SPDX-License-Identifier: Apache-2.0
#include <sys/types.h>

#include <memory>

#include "interpose/settings/options.h"
#include "reporter/view/command/verb.h"
#include "reporter/view/system/report_request.h"

namespace vramscope {
namespace {

struct Arguments {
  pid_t pid = 0;
  std::string signal;
  unsigned wait_seconds = 10;
};

int ask(const Arguments& arguments) {
  Signal signal;
  if (!arguments.signal.empty()) (void)read(arguments.signal, signal);  // checked when parsed
  const ReportRequest request{
      .pid = arguments.pid, .signal = signal.number, .wait_seconds = arguments.wait_seconds};
  const ReportReply reply = request_report(request, say);
  if (!reply.problem.empty()) {
    say(reply.problem);
    return kBadInput;
  }
  return reply.report.empty() ? kFine : publish({}, reply.report + "\n");
}

std::string no_signal(const std::string& given) {
  Signal signal;
  const bool good = read(given, signal) && signal.number != 0;
  return good ? "" : "'" + given + "' is not a signal such as SIGUSR1 or 10";
}

}  // namespace

Verb add_snapshot(CommandLine& line) {
  auto arguments = std::make_shared<Arguments>();
  Command& command = line.add_verb("snapshot", "Make a running program write a report now");
  command.positional("PID", &arguments->pid, "A process that was started with vramscope run",
                     not_a_count);
  command.option("--wait", &arguments->wait_seconds, "Wait SECONDS for the report; 0: do not wait",
                 {.value_name = "SECONDS", .why_not = not_a_count, .shows_default = true});
  command.option("--signal", &arguments->signal, "Send SIGNAL instead of the one set at the start",
                 {.value_name = "SIGNAL", .why_not = no_signal});
  command.footer(
      "snapshot prints the path of the report.\n"
      "Example:\n"
      "  vramscope report \"$(vramscope snapshot 4711)\"");
  return {.command = &command, .act = [arguments] { return ask(*arguments); }};
}

}  // namespace vramscope
