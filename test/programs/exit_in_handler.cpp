// A signal handler ends the process with exit() whatever it has interrupted: a few hundred
// children, each at another moment of allocating and freeing.
// SPDX-License-Identifier: Apache-2.0
//
// exit_in_handler TRIES: each child is a process of its own (it executes this program again), since
// CUDA does not work in a child of fork alone. Prints how the children ended; on stderr how long it
// took from the signal to the end at most, in milliseconds, and how many took 900 or more.
#include <spawn.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <ctime>
#include <string>

#include "test/programs/driver.h"

extern char** environ;

namespace {

int to_parent = -1;

long now_us() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000 + now.tv_nsec / 1000;
}

void on_alarm(int) {
  const long now = now_us();
  [[maybe_unused]] const ssize_t written = write(to_parent, &now, sizeof(now));
  std::exit(7);
}

// Sizes that hit, split, miss and go back; a site of its own for each stack.
[[gnu::noinline]] void work(unsigned turn) {
  const std::size_t sizes[] = {512, 4096, 300'000, 3 * kMiB, 30 * kMiB};
  CUdeviceptr held[5];
  for (unsigned i = 0; i < 5; ++i) held[i] = allocate(sizes[(turn + i) % 5] + 512 * (turn % 64));
  for (const CUdeviceptr memory : held) MUST(cuMemFree(memory));
}

[[noreturn]] void be_child(long delay_us) {
  start();
  signal(SIGALRM, on_alarm);
  const itimerval once{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_usec = delay_us}};
  setitimer(ITIMER_REAL, &once, nullptr);
  for (unsigned turn = 0;; ++turn) work(turn);
}

}  // namespace

int main(int count, char** arguments) {
  if (count == 4 && std::strcmp(arguments[1], "child") == 0) {
    to_parent = std::atoi(arguments[3]);
    be_child(std::atol(arguments[2]));
  }
  const int tries = count > 1 ? std::atoi(arguments[1]) : 1;
  int ended = 0;
  long longest = 0, slow = 0;
  for (int i = 0; i < tries; ++i) {
    int ends[2];
    if (pipe(ends) != 0) return 3;
    std::string delay = std::to_string(500 + 37 * i % 3000), descriptor = std::to_string(ends[1]);
    char child[] = "child";
    char* const command[] = {arguments[0], child, delay.data(), descriptor.data(), nullptr};
    pid_t pid = 0;
    if (posix_spawn(&pid, "/proc/self/exe", nullptr, nullptr, command, environ) != 0) return 3;
    int status = 0;
    waitpid(pid, &status, 0);
    const long end = now_us();
    long signalled = 0;
    close(ends[1]);
    if (read(ends[0], &signalled, sizeof(signalled)) == sizeof(signalled)) {
      longest = std::max(longest, end - signalled);
      slow += end - signalled >= 900'000;
    }
    close(ends[0]);
    const bool as_meant = WIFEXITED(status) && WEXITSTATUS(status) == 7;
    ended += as_meant;
    if (!as_meant) std::printf("try %d: wait status %#x\n", i, static_cast<unsigned>(status));
  }
  std::printf("%d of %d ended\n", ended, tries);
  std::fprintf(stderr, "longest %ld ms, slow: %ld\n", longest / 1000, slow);
}
