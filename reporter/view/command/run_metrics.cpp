// The server is a child of `run`, as the program is: the program has neither another parent nor a
// child that it does not know, and none of our descriptors.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/command/run_metrics.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "reporter/report/live/recover_file.h"
#include "reporter/view/command/metrics_server.h"
#include "reporter/view/system/note_file.h"

namespace vramscope {
namespace {

// The processes of the run, by the live files that they have noted.
std::vector<RunningProcess> processes_in(const std::string& note) {
  std::vector<RunningProcess> running;
  for (const std::string& path : notes_in(note).live_files) {
    const LiveFileOwner owner = owner_of_live_file(path);
    if (owner.is_alive && owner.is_near) running.push_back({owner.pid, path});
  }
  return running;
}

// Leaves the terminal and its signals, and holds no descriptor that anybody waits for. `run` ends
// it; if `run` is killed, the system does.
[[noreturn]] void serve_run(const ListeningSocket& socket, const std::string& note, pid_t run) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != run) _exit(0);
  setsid();
  std::signal(SIGPIPE, SIG_IGN);
  const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(nowhere, standard);
  // Others are those that `run` was started with, such as a pipe of a shell.
  for (int other = STDERR_FILENO + 1; other < socket.number(); ++other) close(other);
  close_range(static_cast<unsigned>(socket.number()) + 1, ~0U, 0);
  MetricsServer server({.find = [&](LookFor) { return processes_in(note); }});
  _exit(server.serve(socket, -1).empty() ? 0 : 1);
}

}  // namespace

RunMetrics::RunMetrics(const std::string& address, const std::string& note) {
  if (address.empty()) return;
  if (!why_no_server().empty()) {
    problem_ = "this build has no server: " + std::string(why_no_server());
    return;
  }
  socket_ = std::make_unique<ListeningSocket>(*server_address(address));
  problem_ = socket_->problem();
  if (!problem_.empty()) return;
  const pid_t self = getpid();
  server_ = fork();
  if (server_ == 0) serve_run(*socket_, note, self);
  if (server_ < 0) problem_ = "cannot serve: " + std::string(std::strerror(errno));
}

std::string RunMetrics::url() const {
  return server_ > 0 ? "http://" + text_of(socket_->address()) + "/metrics" : "";
}

RunMetrics::~RunMetrics() {
  if (server_ <= 0) return;
  kill(server_, SIGKILL);
  while (waitpid(server_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace vramscope
