// Pinned memory while a stream is being captured: argument allocate, free or nothing; or relaxed.
// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "test/programs/driver.h"

static constexpr std::size_t kBytes = 60000;

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "nothing";
  bool relaxed = std::strcmp(what, "relaxed") == 0;
  start();
  CUstream stream;
  MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  void *before = nullptr, *block = nullptr, *during = nullptr, *after = nullptr;
  MUST(cuMemHostAlloc(&before, kBytes, 0));
  MUST(cuMemHostAlloc(&block, kBytes, 0));
  MUST(cuMemFreeHost(before));  // something to reuse
  CUdeviceptr device = allocate(kBytes);

  auto mode = relaxed ? CU_STREAM_CAPTURE_MODE_RELAXED : CU_STREAM_CAPTURE_MODE_GLOBAL;
  MUST(cuStreamBeginCapture(stream, mode));
  show("copy", cuMemcpyHtoDAsync(device, block, kBytes, stream));
  if (relaxed || std::strcmp(what, "allocate") == 0) {
    show("allocate during capture", cuMemHostAlloc(&during, kBytes, 0));
  }
  if (std::strcmp(what, "free") == 0) show("free during capture", cuMemFreeHost(block));
  CUgraph graph = nullptr;
  show("end of capture", cuStreamEndCapture(stream, &graph));

  show("allocate after", cuMemHostAlloc(&after, kBytes, 0));
  std::printf("not the block that the graph uses: %d\n", after != block);
  show("free after", cuMemFreeHost(after));
  if (during != nullptr) show("free of what came during capture", cuMemFreeHost(during));
  show("wait", cuCtxSynchronize());
}
