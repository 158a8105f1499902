// Stream-ordered frees of plain memory: they wait for nobody, and a captured stream refuses
// them and goes on.
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <thread>

#include "test/programs/driver.h"

static std::atomic<bool> go{false};

// Keeps its stream busy until the thread that submitted it says so.
static void hold(void*) {
  while (!go) std::this_thread::yield();
}

int main() {
  start();
  const std::size_t before = unused_bytes();
  CUstream stream = nullptr;
  MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CUdeviceptr block = allocate(kMiB);
  MUST(cuLaunchHostFunc(stream, hold, nullptr));
  show("free behind a busy function", cuMemFreeAsync(block, stream));
  go = true;
  show("wait", cuStreamSynchronize(stream));
  show("free again", cuMemFree(block));

  block = allocate(kMiB);
  MUST(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  show("free in its capture", cuMemFreeAsync(block, stream));
  CUgraph graph = nullptr;
  show("end of capture", cuStreamEndCapture(stream, &graph));
  show("free after it", cuMemFree(block));

  if (graph != nullptr) MUST(cuGraphDestroy(graph));
  MUST(cuMemFree(allocate(kMiB)));
  std::printf("everything is free: %d\n", unused_bytes() == before);
}
