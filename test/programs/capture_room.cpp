// What was freed before a capture serves during it, where the driver allows to free then: in all
// modes but the relaxed one an allocation is refused for the capture's sake.
// SPDX-License-Identifier: Apache-2.0
// Argument: relaxed, global, both (one of each on two streams) or thread (the relaxed one is
// another thread's).
#include <cstring>
#include <thread>

#include "test/programs/driver.h"

static CUresult begin(CUstream stream, CUstreamCaptureMode mode) {
  return cuStreamBeginCapture(stream, mode);
}

static void show_room(std::size_t bytes) {
  CUdeviceptr block = 0;
  const CUresult code = cuMemAlloc(&block, bytes);
  show("allocate during capture", code);
  if (code == CUDA_SUCCESS) show("free during capture", cuMemFree(block));
}

int main(int argc, char** argv) {
  const char* const what = argc > 1 ? argv[1] : "relaxed";
  start();
  CUcontext context = nullptr;
  cuCtxGetCurrent(&context);
  CUstream first, second;
  MUST(cuStreamCreate(&first, CU_STREAM_NON_BLOCKING));
  MUST(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
  std::size_t free = 0, total = 0;
  MUST(cuMemGetInfo(&free, &total));
  const std::size_t most = total / 4 * 3;
  for (int i = 0; i < 3; ++i) MUST(cuMemFree(allocate(most)));
  for (int i = 0; i < 3; ++i) {
    CUdeviceptr blocks[8] = {};
    for (CUdeviceptr& block : blocks) block = allocate(most / 8);
    for (const CUdeviceptr block : blocks) MUST(cuMemFree(block));
  }

  const bool is_relaxed = std::strcmp(what, "global") != 0;
  const auto mode = is_relaxed ? CU_STREAM_CAPTURE_MODE_RELAXED : CU_STREAM_CAPTURE_MODE_GLOBAL;
  show("begin", begin(first, mode));
  if (std::strcmp(what, "both") == 0) {
    show("begin", begin(second, CU_STREAM_CAPTURE_MODE_GLOBAL));
  }
  if (std::strcmp(what, "thread") == 0) {
    std::thread([&] {
      MUST(cuCtxSetCurrent(context));
      show_room(most);
    }).join();
  } else {
    show_room(most);
  }
  CUgraph graph = nullptr;
  show("end", cuStreamEndCapture(first, &graph));
  if (std::strcmp(what, "both") == 0) show("end", cuStreamEndCapture(second, &graph));
  MUST(cuMemFree(allocate(most)));
}
