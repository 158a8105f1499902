// Ends that happen while something else happens: other threads allocate, reports are written, exit
// runs already, a library is unloaded.
// SPDX-License-Identifier: Apache-2.0
// Argument: exit_again, exit_together, _exit_thread, dlclose, exec_often, or fault_CHOICE with
// CHOICE of segv, bus, fpe, ill, abort, trap, unhandled, jump or nested.
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <csetjmp>
#include <csignal>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "test/programs/driver.h"

static const char* way;
static bool is(const char* name) { return std::strcmp(way, name) == 0; }

static void keep_allocating(CUcontext context) {
  if (cuCtxSetCurrent(context) != CUDA_SUCCESS) return;
  CUdeviceptr block = 0;  // until the driver ends with the process
  for (std::size_t i = 1; cuMemAlloc(&block, i % 64 * 4096 + 1) == CUDA_SUCCESS; ++i) {
    cuMemFree(block);
  }
}

static void exit_again() {
  std::printf("exit handler\n");
  std::exit(5);
}

static std::atomic<int> waiting{0};
static void exit_together() {
  ++waiting;
  while (waiting < 4) {
  }
  std::exit(6);
}

static void* library;
static void close_library() { std::printf("closed: %d\n", dlclose(library)); }

static void write(const char* text) {
  [[maybe_unused]] const ssize_t written = ::write(STDOUT_FILENO, text, std::strlen(text));
}

static sigjmp_buf target;
static void on_fault(int signal) {
  write("handled\n");
  if (is("fault_jump")) siglongjmp(target, signal);
  if (is("fault_nested")) raise(SIGABRT);
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  sigaction(signal, &standard, nullptr);  // and again, now by default
  if (is("fault_abort") || is("fault_trap")) raise(signal);
}

static void commit_fault() {
  static volatile int zero = 0;
  static int* volatile nowhere = nullptr;
  const std::string choice = way + std::strlen("fault_");
  const bool handled = choice != "unhandled";
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP}) {
    if (handled) std::signal(signal, on_fault);
  }
  if (choice == "nested") std::signal(SIGABRT, SIG_DFL);
  if (sigsetjmp(target, 1) != 0) {
    write("went on\n");
    return;
  }
  if (choice == "bus") raise(SIGBUS);
  if (choice == "fpe") zero = 1 / zero;
  if (choice == "ill") __builtin_trap();
  if (choice == "abort") std::abort();
  if (choice == "trap") raise(SIGTRAP);
  *nowhere = 1;
}

// Each turn executes this program again, with reports being written all the time.
static void execute_again(const char* self, int turns) {
  if (turns == 0) return;
  const std::string left = std::to_string(turns - 1);
  execl(self, self, "exec_often", left.c_str(), nullptr);
}

int main(int argc, char** argv) {
  way = argc > 1 ? argv[1] : "exit_again";
  const CUcontext context = start();
  allocate(1000);  // never freed
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  std::printf("ending by %s\n", way);
  if (is("dlclose")) {
    library = dlopen("libcuda.so.1", RTLD_NOW);
    std::atexit(close_library);
    return library == nullptr ? 3 : 4;
  }
  if (std::strncmp(way, "fault_", 6) == 0) {
    commit_fault();
    return 9;
  }
  for (int i = 0; i < 3; ++i) std::thread(keep_allocating, context).detach();
  if (is("exit_again")) {
    std::atexit(exit_again);
    std::exit(4);
  }
  if (is("exit_together")) {
    for (int i = 0; i < 3; ++i) std::thread(exit_together).detach();
    exit_together();
  }
  if (is("_exit_thread")) {
    std::thread([] { _exit(8); }).detach();
    pause();
  }
  if (is("exec_often")) {
    usleep(3000);
    execute_again(argv[0], argc > 2 ? std::atoi(argv[2]) : 10);
    _exit(7);
  }
  return 10;
}
