// vramscope serve: metrics of all programs that are recorded now, for collectors.
// SPDX-License-Identifier: Apache-2.0
#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>
#include <memory>

#include "reporter/view/command/metrics_server.h"
#include "reporter/view/command/verb.h"

namespace vramscope {
namespace {

struct Arguments {
  std::string listen = "127.0.0.1:9847";
  std::size_t sites = kUsualSites;
  std::size_t keep_seconds = kUsualKeepSeconds;
};

// Becomes readable when the server is to end. The signals stay blocked; what a program reads files
// in is killed with it.
int end_signals() {
  std::signal(SIGPIPE, SIG_IGN);
  sigset_t ends;
  sigemptyset(&ends);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&ends, signal);
  sigprocmask(SIG_BLOCK, &ends, nullptr);
  return signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
}

int serve(const Arguments& arguments) {
  if (!why_no_server().empty()) {
    return refuse("this build has no server: " + std::string(why_no_server()));
  }
  const ListeningSocket socket(*server_address(arguments.listen));
  if (!socket.problem().empty()) return refuse(socket.problem());
  const int stop = end_signals();
  say("serving http://" + text_of(socket.address()) + "/metrics");
  MetricsServer server({.find = running_processes,
                        .most_sites = arguments.sites,
                        .keep = std::chrono::seconds(arguments.keep_seconds)});
  const std::string problem = server.serve(socket, stop);
  close(stop);
  return problem.empty() ? int{kFine} : refuse(problem);
}

}  // namespace

Verb add_serve(CommandLine& line) {
  auto arguments = std::make_shared<Arguments>();
  Command& command = line.add_verb("serve", "Serve metrics of running programs to Prometheus");
  command.option(
      "--listen", &arguments->listen, "Listen at this address and port",
      {.value_name = "[ADDRESS:]PORT", .why_not = not_an_address, .shows_default = true});
  command.option("--sites", &arguments->sites, "Name the N largest call sites of each program",
                 {.value_name = "N", .why_not = not_a_count, .shows_default = true});
  command.option("--keep", &arguments->keep_seconds,
                 "Keep the last values of ended programs for SECONDS",
                 {.value_name = "SECONDS", .why_not = not_a_count, .shows_default = true});
  command.footer(
      "serve answers /metrics and /debug/pprof/memory until it is interrupted. It finds all "
      "programs of this user that are recorded, also in containers, and reads their live files "
      "alone: it sends no signal and does not stop a program. Everyone who reaches the port can "
      "read what it serves.\n"
      "Examples:\n"
      "  vramscope serve\n"
      "  vramscope serve --listen 0.0.0.0:9847 --sites 20\n"
      "  curl http://127.0.0.1:9847/metrics");
  return {.command = &command, .act = [arguments] { return serve(*arguments); }};
}

}  // namespace vramscope
