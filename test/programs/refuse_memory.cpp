// Preloaded after us: refuses memory to libvramscope.so, at one request after the other.
// SPDX-License-Identifier: Apache-2.0
//
// Before the program begins, a process is forked for each position n of a request for memory
// (malloc, calloc, realloc, aligned_alloc, mmap) that the library makes: there the n-th request is
// refused (REFUSE=once) or all from the n-th on (REFUSE=from). Ends with the first process that met
// no refusal, prints how many there were and each ending that was not `exit(EXPECTED)`, and exits
// with 1 if there was one. REFUSE_THREADS: the library gets no thread either. What the processes
// print goes nowhere.
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "test/programs/refused_memory.h"

namespace {

struct Shared {  // with the process that tries
  unsigned long requests;
  bool refused;
};
Shared* shared = nullptr;
unsigned long first = 0;  // to be refused; 0: none
bool all_from_there = false, no_threads = false;

bool is_refused(const void* caller) {
  if (first == 0 || !is_of_library(caller)) return false;
  const unsigned long number = __atomic_add_fetch(&shared->requests, 1, __ATOMIC_RELAXED);
  const bool refused = all_from_there ? number >= first : number == first;
  if (!refused) return false;
  shared->refused = true;
  errno = ENOMEM;
  return true;
}

// Whether the process that was forked ended as it should; it may hang for a while only.
bool ended_well(pid_t child, unsigned long position, int expected) {
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == expected) return true;
  std::fprintf(stderr, "request %lu refused: %s %d\n", position,
               WIFSIGNALED(status) ? "signal" : "status",
               WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
  return false;
}

void be_tried(unsigned long position) {
  const int nowhere = open("/dev/null", O_RDWR);
  dup2(nowhere, STDOUT_FILENO);
  if (std::getenv("REFUSE_SHOWS") == nullptr) dup2(nowhere, STDERR_FILENO);
  close(nowhere);
  alarm(20);
  first = position;
}

// Runs before the library is started: it was loaded before this object.
__attribute__((constructor)) void sweep() {
  const char* const how = std::getenv("REFUSE");
  dl_iterate_phdr(find_library, nullptr);
  if (how == nullptr || end == 0) return;
  const char* const only = std::getenv("REFUSE_AT");
  const char* const wanted = std::getenv("REFUSE_EXPECTED");
  const int expected = wanted == nullptr ? 0 : std::atoi(wanted);
  all_from_there = std::strcmp(how, "from") == 0;
  no_threads = std::getenv("REFUSE_THREADS") != nullptr;
  shared = static_cast<Shared*>(
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  unsigned long bad = 0, position = only == nullptr ? 1 : std::strtoul(only, nullptr, 10);
  for (;; ++position) {
    *shared = {};
    const pid_t child = fork();
    if (child == 0) return be_tried(position);
    bad += !ended_well(child, position, expected);
    if (!shared->refused || only != nullptr) break;
  }
  std::printf("%lu requests refused, %lu ended otherwise\n", position - 1, bad);
  std::fflush(stdout);
  syscall(SYS_exit_group, bad != 0);
}

}  // namespace

EXPORT int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*),
                          void* argument) noexcept {
  if (no_threads && is_of_library(__builtin_return_address(0))) return EAGAIN;
  using Function = int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static auto* const next = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, "pthread_create"));
  return next(thread, attributes, run, argument);
}
