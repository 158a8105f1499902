// Frees memory that a graph may name, ends the graph and asks how much is free while the device
// waits for this very thread: nothing may wait for the device.
// SPDX-License-Identifier: Apache-2.0
// Argument: shared, where other processes use the device: how much is used is then not told.
#include <atomic>

#include "test/programs/driver.h"

namespace {

std::atomic<bool> goes_on{false};

void CUDA_CB wait_for_host(void*) { goes_on.wait(false); }

std::size_t used_mib() {
  std::size_t free = 0, total = 0;
  MUST(cuMemGetInfo(&free, &total));
  return (total - free) / kMiB;
}

}  // namespace

int main(int argc, char**) {
  start();
  CUstream stream = nullptr;
  CUgraph graph = nullptr;
  CUgraphExec run = nullptr;
  MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  const std::size_t before = used_mib();
  const CUdeviceptr block = allocate(40 * kMiB);
  MUST(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  MUST(cuMemsetD8Async(block, 1, 40 * kMiB, stream));
  MUST(cuStreamEndCapture(stream, &graph));
  MUST(cuGraphInstantiate(&run, graph, 0));
  MUST(cuGraphLaunch(run, stream));
  MUST(cuMemFree(block));
  MUST(cuGraphExecDestroy(run));
  MUST(cuGraphDestroy(graph));

  MUST(cuLaunchHostFunc(stream, wait_for_host, nullptr));
  const std::size_t used = used_mib();
  if (argc == 1) std::printf("used: %zu MiB\n", used - before);
  goes_on = true;
  goes_on.notify_all();
  MUST(cuStreamSynchronize(stream));
  std::printf("done\n");
}
