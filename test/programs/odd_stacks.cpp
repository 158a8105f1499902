// Allocates where a stack cannot be walked in the usual way: the walk may end early, never badly.
// SPDX-License-Identifier: Apache-2.0
//
// odd_stacks tables|frames|signal|coroutine|generated [keep the map]
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstring>
#include <string>

#include "test/programs/driver.h"

extern "C" void without_tables(void (*function)());  // odd_stacks_bare.S
extern "C" void with_wrong_frame(void (*function)());

namespace {

void allocate_and_free() { MUST(cuMemFree(allocate(3 * kMiB))); }

// A handler's stack of its own.
void in_signal() {
  static unsigned char stack[256 << 10];
  stack_t alternate{};
  alternate.ss_sp = stack;
  alternate.ss_size = sizeof stack;
  sigaltstack(&alternate, nullptr);
  struct sigaction action {};
  action.sa_handler = [](int) { allocate_and_free(); };
  action.sa_flags = SA_ONSTACK;
  sigaction(SIGUSR2, &action, nullptr);
  raise(SIGUSR2);
}

ucontext_t home, away;

void in_coroutine() {
  static unsigned char stack[256 << 10];
  getcontext(&away);
  away.uc_stack.ss_sp = stack;
  away.uc_stack.ss_size = sizeof stack;
  away.uc_link = &home;
  makecontext(&away, allocate_and_free, 0);
  swapcontext(&home, &away);
}

// Code that no unwind table describes.
#ifdef __aarch64__
// stp x29, x30, [sp, #-16]!; mov x29, sp; blr x0; ldp x29, x30, [sp], #16; ret
constexpr unsigned kCode[] = {0xa9bf7bfd, 0x910003fd, 0xd63f0000, 0xa8c17bfd, 0xd65f03c0};
#else
// push rbp; mov rbp, rsp; call rdi; pop rbp; ret
constexpr unsigned char kCode[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
#endif

// A map tells its name, as just-in-time compilers leave it for perf.
void in_generated_code(bool keep) {
  void* const page =
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) std::exit(3);
  std::memcpy(page, kCode, sizeof kCode);
  __builtin___clear_cache(static_cast<char*>(page), static_cast<char*>(page) + sizeof kCode);
  const std::string path = "/tmp/perf-" + std::to_string(getpid()) + ".map";
  if (std::FILE* file = std::fopen(path.c_str(), "w")) {
    std::fprintf(file, "%llx %zx generated_kernel\n",
                 static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(page)),
                 sizeof kCode);
    std::fclose(file);
  }
  reinterpret_cast<void (*)(void (*)())>(page)(allocate_and_free);
  if (!keep) unlink(path.c_str());
}

}  // namespace

int main(int count, char** arguments) {
  const std::string where = count > 1 ? arguments[1] : "";
  start();
  if (where == "tables") without_tables(allocate_and_free);
  if (where == "frames") with_wrong_frame(allocate_and_free);
  if (where == "signal") in_signal();
  if (where == "coroutine") in_coroutine();
  if (where == "generated") in_generated_code(count > 2);
  std::printf("%s: done\n", where.c_str());
}
