// The program under test: plays sequences, each in a process of its own that has not used CUDA yet.
// SPDX-License-Identifier: Apache-2.0
// player FILE          plays one sequence
// player --serve DIR   reads names of sequences, a line each, and answers with their exit status
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iostream>
#include <string>

#include "test/differential/patience.h"
#include "test/differential/program.h"

using namespace vramscope::differential;

namespace {

std::string mode() {
  const char* const preloaded = std::getenv("LD_PRELOAD");
  const char* const chosen = std::getenv("VRAMSCOPE_MODE");
  if (preloaded == nullptr || std::strstr(preloaded, "libvramscope") == nullptr) return "";
  return chosen == nullptr ? "cache" : chosen;
}

int play(const std::string& path, const std::string& folder) {
  try {
    const Sequence sequence = read_sequence_file(path);
    std::string simulator = sequence.simulator;
    if (const auto at = simulator.find("shared"); at != simulator.npos) {
      simulator.replace(at, 6, "shared=" + folder + "/device." + std::to_string(getpid()));
    }
    setenv("VRAMSCOPE_SIM", simulator.c_str(), 1);
    return run_program(sequence, {.mode = mode(), .folder = folder});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", path.c_str(), error.what());
    return 3;
  }
}

void redirect(const std::string& path, int descriptor) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0 || dup2(file, descriptor) < 0) _exit(3);
  close(file);
}

// What a program that was killed leaves in memory: nobody recovers it.
void remove_live_file(pid_t ended) {
  const std::string folder = "/dev/shm/vramscope-" + std::to_string(geteuid());
  unlink((folder + "/player." + std::to_string(ended) + ".live").c_str());
}

// Children of children are waited for too: their reports belong to the sequence. One that hangs is
// killed with its group a while after the program has ended.
int wait_for_all(pid_t program) {
  constexpr unsigned kMostSeconds = 5;
  int status = 0;
  struct sigaction interrupting {};
  interrupting.sa_handler = [](int) {};
  sigaction(SIGALRM, &interrupting, nullptr);
  for (;;) {
    int one = 0;
    const pid_t ended = waitpid(-1, &one, 0);
    if (ended > 0) remove_live_file(ended);
    if (ended == program) status = one, alarm_within(kMostSeconds);
    if (ended < 0 && errno == EINTR) kill(-program, SIGKILL);
    if (ended < 0 && errno != EINTR) break;
  }
  alarm(0);
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "--hello") == 0) return 11;
  if (argc == 2) return play(argv[1], ".");
  if (argc != 3) return 2;
  const std::string folder = argv[2];
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  std::string path;
  while (std::getline(std::cin, path)) {
    const pid_t child = fork();
    if (child == 0) {
      setpgid(0, 0);
      signal(SIGALRM, SIG_DFL);
      redirect(folder + "/out", STDOUT_FILENO);
      redirect(folder + "/err", STDERR_FILENO);
      redirect("/dev/null", STDIN_FILENO);
      return play(path, folder);
    }
    const int status = wait_for_all(child);
    std::cout << child << ' ' << status << std::endl;
  }
}
