// Captures of every mode, and their ends by the end of the stream and of the context; another
// thread allocates and frees meanwhile where the mode lets it.
// SPDX-License-Identifier: Apache-2.0
#include <thread>

#include "test/programs/driver.h"

static CUstream begin(CUstreamCaptureMode mode) {
  CUstream stream = nullptr;
  MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  MUST(cuStreamBeginCapture(stream, mode));
  return stream;
}

static void on_another_thread(CUcontext context, CUdeviceptr block) {
  MUST(cuCtxSetCurrent(context));
  CUdeviceptr during = 0;
  show("allocate on another thread", cuMemAlloc(&during, kMiB));
  if (during != 0) show("free it", cuMemFree(during));
  if (block != 0) show("free what was there before", cuMemFree(block));
}

static std::size_t unused_before = 0;

static void show_free(const char* when) {
  CUdeviceptr block = allocate(3 * kMiB);
  MUST(cuMemFree(block));
  std::printf("everything is free %s: %d\n", when, unused_bytes() == unused_before);
}

int main() {
  CUcontext first = start();
  unused_before = unused_bytes();
  const CUstreamCaptureMode modes[] = {CU_STREAM_CAPTURE_MODE_GLOBAL,
                                       CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
                                       CU_STREAM_CAPTURE_MODE_RELAXED};
  for (CUstreamCaptureMode mode : modes) {
    bool global = mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
    CUdeviceptr block = global ? 0 : allocate(kMiB);
    CUstream stream = begin(mode);
    std::thread(on_another_thread, first, block).join();
    CUgraph graph = nullptr;
    show("end of capture", cuStreamEndCapture(stream, &graph));
    if (graph != nullptr) MUST(cuGraphDestroy(graph));
    MUST(cuStreamDestroy(stream));
    show_free("after it");
  }

  CUdeviceptr block = allocate(kMiB);
  CUstream stream = begin(CU_STREAM_CAPTURE_MODE_RELAXED);
  show("free during a relaxed capture", cuMemFree(block));
  show("destroy its stream", cuStreamDestroy(stream));
  show_free("after the stream");

  block = allocate(kMiB);
  CUcontext second = create_context();
  begin(CU_STREAM_CAPTURE_MODE_RELAXED);
  MUST(cuCtxSetCurrent(first));
  show("free during a relaxed capture", cuMemFree(block));
  show("destroy its context", cuCtxDestroy(second));
  MUST(cuCtxSetCurrent(first));
  show_free("after the context");
}
