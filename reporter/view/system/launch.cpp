// Starts a program as a shell would and stays out of its way until it ends.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/system/launch.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

namespace vramscope {
namespace {

constexpr std::array kLeftToProgram = {SIGINT, SIGQUIT};
constexpr std::array kPassedOn = {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

volatile pid_t g_program = 0;

void pass_on(int signal) {
  const int error = errno;
  if (g_program > 0) kill(g_program, signal);
  errno = error;
}

sigset_t signals_of_interest() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : kLeftToProgram) sigaddset(&set, signal);
  for (const int signal : kPassedOn) sigaddset(&set, signal);
  return set;
}

void set_disposition(int signal, void (*disposition)(int)) {
  struct sigaction action = {};
  action.sa_handler = disposition;
  action.sa_flags = SA_RESTART;
  sigaction(signal, &action, nullptr);
}

void handle_signals() {
  for (const int signal : kLeftToProgram) set_disposition(signal, SIG_IGN);
  for (const int signal : kPassedOn) set_disposition(signal, pass_on);
}

[[noreturn]] void become(const std::vector<std::string>& arguments, const sigset_t& mask,
                         int complaint) {
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  sigprocmask(SIG_SETMASK, &mask, nullptr);
  execvp(argv[0], argv.data());
  const int error = errno;
  // Nothing to do when it fails: the parent sees status 127.
  (void)!write(complaint, &error, sizeof error);
  _exit(127);
}

// errno of a failed exec; 0 once the program runs, which closes the pipe.
int start_error(int complaint) {
  int error = 0;
  ssize_t got = 0;
  do {
    got = read(complaint, &error, sizeof error);
  } while (got < 0 && errno == EINTR);
  return got == sizeof error ? error : 0;
}

// Leaves the pid taken until signals are blocked: a signal never reaches a stranger.
void await_end(Ending& ending, const sigset_t& ours) {
  siginfo_t end{};
  while (waitid(P_PID, static_cast<id_t>(ending.pid), &end, WEXITED | WNOWAIT) < 0 &&
         errno == EINTR) {
  }
  sigprocmask(SIG_BLOCK, &ours, nullptr);
  g_program = 0;
  int status = 0;
  while (waitpid(ending.pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) ending.signal = WTERMSIG(status);
  if (WIFEXITED(status)) ending.status = WEXITSTATUS(status);
}

}  // namespace

Ending launch(const std::vector<std::string>& arguments) {
  std::array<int, 2> complaint{};
  if (pipe2(complaint.data(), O_CLOEXEC) != 0) return {.error = errno, .own = true};
  const sigset_t ours = signals_of_interest();
  sigset_t before;
  // Held back until the program's pid is known; the program starts with what we were given.
  sigprocmask(SIG_BLOCK, &ours, &before);

  Ending ending;
  ending.pid = fork();
  if (ending.pid < 0) return {.error = errno, .own = true};
  if (ending.pid == 0) become(arguments, before, complaint[1]);
  close(complaint[1]);
  g_program = ending.pid;
  handle_signals();
  sigprocmask(SIG_SETMASK, &before, nullptr);

  ending.error = start_error(complaint[0]);
  close(complaint[0]);
  await_end(ending, ours);
  if (ending.error != 0) ending.pid = 0;
  return ending;
}

}  // namespace vramscope
