// A thread frees memory just as another thread's capture begins, whose mode allows that.
// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <thread>

#include "test/programs/driver.h"

int main(int argc, char** argv) {
  const bool relaxed = argc > 1 && std::strcmp(argv[1], "relaxed") == 0;
  const auto mode = relaxed ? CU_STREAM_CAPTURE_MODE_RELAXED : CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
  CUcontext context = start();
  CUstream stream = nullptr;
  MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  const CUdeviceptr memory = allocate(4 * kMiB);
  std::thread capturing([&] {
    CUgraph graph = nullptr;
    MUST(cuCtxSetCurrent(context));
    show("begin", cuStreamBeginCapture(stream, mode));
    show("end", cuStreamEndCapture(stream, &graph));
  });
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  while (status == CU_STREAM_CAPTURE_STATUS_NONE) MUST(cuStreamIsCapturing(stream, &status));
  const CUresult freed = cuMemFree(memory);
  capturing.join();
  show("free", freed);
}
