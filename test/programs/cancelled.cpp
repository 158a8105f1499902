// A thread that was cancelled goes on to its next cancellation point, and no call is one.
// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>

#include "test/programs/driver.h"

static CUcontext context;

static void* work(void*) {
  MUST(cuCtxSetCurrent(context));
  pthread_cancel(pthread_self());
  CUdeviceptr too_large = 0;
  show("too large", cuMemAlloc(&too_large, std::size_t{1} << 50));
  use_each_kind();
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
