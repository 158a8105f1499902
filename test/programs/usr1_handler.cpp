// A program with its own SIGUSR1 handler, installed before and after the driver starts.
// SPDX-License-Identifier: Apache-2.0
// Argument: sigaction, signal, siginfo or ignore.
#include <csignal>
#include <cstring>

#include "test/programs/driver.h"

static volatile std::sig_atomic_t calls, with_sender;

static void handler(int) { calls = calls + 1; }
static void long_handler(int, siginfo_t* sender, void* context) {
  calls = calls + 1;
  if (sender->si_signo == SIGUSR1 && context != nullptr) with_sender = with_sender + 1;
}

static void install(const char* how) {
  if (std::strcmp(how, "signal") == 0) {
    std::printf("installed over nothing of its own: %d\n",
                std::signal(SIGUSR1, handler) != SIG_ERR);
  } else if (std::strcmp(how, "ignore") == 0) {
    std::signal(SIGUSR1, SIG_IGN);
  } else {
    struct sigaction action {};
    action.sa_flags = SA_RESTART;
    sigaddset(&action.sa_mask, SIGUSR2);
    action.sa_handler = handler;
    if (std::strcmp(how, "siginfo") == 0) {
      action.sa_flags = SA_SIGINFO | SA_NODEFER;
      action.sa_sigaction = long_handler;
    }
    sigaction(SIGUSR1, &action, nullptr);
  }
}

// What the program sees when it asks for its handler must be what it installed.
static void query(const char* when) {
  struct sigaction seen {};
  sigaction(SIGUSR1, nullptr, &seen);
  bool own = seen.sa_handler == handler || seen.sa_sigaction == long_handler;
  std::printf("%s: own %d, default %d, ignored %d, info %d, restart %d, masks USR2 %d\n", when, own,
              seen.sa_handler == SIG_DFL, seen.sa_handler == SIG_IGN,
              (seen.sa_flags & SA_SIGINFO) != 0, (seen.sa_flags & SA_RESTART) != 0,
              sigismember(&seen.sa_mask, SIGUSR2));
}

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "sigaction";
  query("before");
  install(how);
  raise(SIGUSR1);
  std::printf("calls before the driver: %d\n", static_cast<int>(calls));
  start();
  CUdeviceptr block = allocate(kMiB);
  query("with driver");
  raise(SIGUSR1);
  raise(SIGUSR1);
  std::printf("calls: %d\n", static_cast<int>(calls));
  install(how);
  raise(SIGUSR1);
  query("after");
  std::printf("calls: %d, with sender: %d\n", static_cast<int>(calls),
              static_cast<int>(with_sender));
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  std::printf("blocked: %d\n", sigismember(&mask, SIGUSR1));
  MUST(cuMemFree(block));
}
