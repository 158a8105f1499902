// Calls CUDA where the stack is small: in a thread, and in a signal's handler on a stack of its
// own.
// SPDX-License-Identifier: Apache-2.0
//
// small_stacks thread|exit|signal [BYTES]: on a stack of so many bytes, below which a page faults;
// without them on the smallest that a thread can have. `exit`: the thread ends the process.
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>

#include "test/programs/driver.h"

namespace {

constexpr std::size_t kSmallest = 16 << 10;  // PTHREAD_STACK_MIN, where that is a number
constexpr std::size_t kPage = 4096;

CUcontext context = nullptr;
bool ends_process = false;

void allocate_and_free() {
  MUST(cuCtxSetCurrent(context));
  CUdeviceptr block = 0, ordered = 0;
  void* pinned = nullptr;
  MUST(cuMemAlloc(&block, kMiB));
  MUST(cuMemAllocHost(&pinned, kMiB));
  MUST(cuMemAllocAsync(&ordered, kMiB, nullptr));
  MUST(cuMemFreeAsync(ordered, nullptr));
  MUST(cuMemFreeHost(pinned));
  MUST(cuMemFree(block));
}

// The memory stays.
unsigned char* below_which_a_page_faults(std::size_t bytes) {
  const std::size_t whole = (bytes + kPage - 1) / kPage * kPage;
  void* const pages =
      mmap(nullptr, kPage + whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  mprotect(pages, kPage, PROT_NONE);
  return static_cast<unsigned char*>(pages) + kPage;
}

void* work(void*) {
  allocate_and_free();
  if (ends_process) std::exit(5);
  return nullptr;
}

void run_in_thread(std::size_t bytes) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstack(&attributes, below_which_a_page_faults(bytes), bytes);
  pthread_t thread;
  if (pthread_create(&thread, &attributes, work, nullptr) != 0) std::exit(4);
  pthread_join(thread, nullptr);
}

void run_in_handler(std::size_t bytes) {
  stack_t alternate{};
  alternate.ss_sp = below_which_a_page_faults(bytes);
  alternate.ss_size = bytes;
  if (sigaltstack(&alternate, nullptr) != 0) std::exit(4);
  struct sigaction action {};
  action.sa_handler = [](int) { allocate_and_free(); };
  action.sa_flags = SA_ONSTACK;
  sigaction(SIGUSR2, &action, nullptr);
  raise(SIGUSR2);
}

}  // namespace

int main(int count, char** arguments) {
  const std::string where = count > 1 ? arguments[1] : "thread";
  const std::size_t bytes = count > 2 ? std::strtoul(arguments[2], nullptr, 10) : kSmallest;
  context = start();
  ends_process = where == "exit";
  if (where == "signal") {
    run_in_handler(bytes);
  } else {
    run_in_thread(bytes);
  }
  std::printf("done\n");
}
