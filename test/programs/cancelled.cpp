// A thread that was cancelled goes on to its next cancellation point, and no call is one.
// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>

#include "test/programs/driver.h"

static CUcontext context;

static __attribute__((noinline)) void call_everything() {
  void *pinned = nullptr, *own = std::aligned_alloc(4096, kMiB);
  CUdeviceptr block = 0, ordered = 0, too_large = 0;
  show("allocate", cuMemAlloc(&block, kMiB));
  show("pin", cuMemHostAlloc(&pinned, 4096, 0));
  show("register", cuMemHostRegister(own, kMiB, 0));
  show("in order", cuMemAllocAsync(&ordered, 4096, nullptr));
  show("too large", cuMemAlloc(&too_large, std::size_t{1} << 50));
  show("end in order", cuMemFreeAsync(ordered, nullptr));
  show("unregister", cuMemHostUnregister(own));
  show("unpin", cuMemFreeHost(pinned));
  show("free", cuMemFree(block));
  std::free(own);
}

static void* work(void*) {
  MUST(cuCtxSetCurrent(context));
  pthread_cancel(pthread_self());
  call_everything();
  pthread_testcancel();
  std::printf("not cancelled\n");
  return nullptr;
}

int main() {
  static char buffer[1 << 16];  // so that nothing is written before the end: that is such a point
  std::setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
  context = start();
  pthread_t thread;
  void* result = nullptr;
  pthread_create(&thread, nullptr, work, nullptr);
  pthread_join(thread, &result);
  std::printf("%s\n", result == PTHREAD_CANCELED ? "cancelled" : "ended");
  MUST(cuMemFree(allocate(kMiB)));
}
