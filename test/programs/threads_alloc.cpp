// Threads allocate, write, check and free while signals arrive.
// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>

#include <atomic>
#include <csignal>
#include <thread>
#include <vector>

#include "test/programs/driver.h"

static std::atomic<int> wrong{0}, finished{0};

static void work(CUcontext context, unsigned seed) {
  MUST(cuCtxSetCurrent(context));
  std::vector<unsigned> held(4096 / sizeof(unsigned));
  for (unsigned round = 0; round < 400; ++round) {
    unsigned mark = seed * 1000003 + round;
    std::size_t bytes = 4096 + (mark * 2654435761u) % (3 * kMiB);
    CUdeviceptr block = allocate(bytes);
    MUST(cuMemsetD32(block, mark, 1024));
    MUST(cuMemcpyDtoH(held.data(), block, 4096));
    for (unsigned word : held) {
      if (word != mark) ++wrong;
    }
    MUST(cuMemFree(block));
  }
  ++finished;
}

int main() {
  struct sigaction ignore_it {};
  ignore_it.sa_handler = [](int) {};
  sigaction(SIGUSR1, &ignore_it, nullptr);
  CUcontext context = start();
  std::vector<std::thread> threads;
  for (unsigned seed = 1; seed <= 4; ++seed) threads.emplace_back(work, context, seed);
  for (int i = 0; i < 8 && finished < 4; ++i) {  // of more, some would get no report
    pthread_kill(threads[i % 4].native_handle(), SIGUSR1);
    std::this_thread::yield();
  }
  for (std::thread& thread : threads) thread.join();
  std::printf("finished %d, wrong words %d\n", finished.load(), wrong.load());
}
