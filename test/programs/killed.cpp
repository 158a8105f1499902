// Allocates 6 MiB and 1,000 bytes, and is ended in a way that leaves it no time.
// SPDX-License-Identifier: Apache-2.0
// Arguments: raise N (a signal), small N (the same without the 6 MiB), fault (it reads where
// nothing is), bus (it reads behind the end of a file), daemon (a child that goes on by itself),
// fork (it forks without an end), exec (it executes itself without an end), many N (it has N
// blocks). The last four say "ready" and wait or go on until somebody ends them.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

#include "test/programs/driver.h"

static const char* way;

static bool is(const char* name) { return std::strcmp(way, name) == 0; }

static void use_memory() {
  start();
  if (!is("small")) allocate(6 * kMiB);
  allocate(1000);
}

static void say_ready() {
  std::printf("ready %d\n", static_cast<int>(getpid()));
  std::fflush(stdout);
}

static void read_where_nothing_is() {
  volatile int* nowhere = nullptr;
  asm volatile("" : "+r"(nowhere));
  std::printf("%d\n", *nowhere);
}

static void read_behind_a_file() {
  const int file = memfd_create("short", 0);
  void* const pages = mmap(nullptr, 4096, PROT_READ, MAP_SHARED, file, 0);
  std::printf("%d\n", *static_cast<volatile char*>(pages));
}

// The parent ends; the child is nobody's.
static void leave_a_daemon() {
  if (fork() != 0) std::exit(0);
  setsid();
  use_memory();
  say_ready();
  while (true) pause();
}

static void fork_for_ever() {
  say_ready();
  while (true) {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    waitpid(child, nullptr, 0);
  }
}

int main(int argc, char** argv) {
  way = argc > 1 ? argv[1] : "fault";
  const int number = argc > 2 ? std::atoi(argv[2]) : 0;
  if (is("daemon")) leave_a_daemon();
  use_memory();
  for (int i = 0; is("many") && i < number; ++i) allocate(512);
  if (is("raise") || is("small")) raise(number);
  if (is("fault")) read_where_nothing_is();
  if (is("bus")) read_behind_a_file();
  if (is("fork")) fork_for_ever();
  say_ready();
  if (is("exec")) execl("/proc/self/exe", argv[0], "exec", nullptr);
  while (true) pause();
}
