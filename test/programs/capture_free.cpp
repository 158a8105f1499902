// Allocates and frees while a stream is being captured.
// SPDX-License-Identifier: Apache-2.0
// Argument: allocate, free, both or nothing; second argument: relaxed.
#include <cstring>

#include "test/programs/driver.h"

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "nothing";
  bool both = std::strcmp(what, "both") == 0;
  bool relaxed = argc > 2 && std::strcmp(argv[2], "relaxed") == 0;
  start();
  CUstream stream;
  MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CUdeviceptr before = allocate(4 * kMiB), block = allocate(4 * kMiB), during = 0;
  MUST(cuMemFree(before));  // something to reuse

  auto mode = relaxed ? CU_STREAM_CAPTURE_MODE_RELAXED : CU_STREAM_CAPTURE_MODE_GLOBAL;
  MUST(cuStreamBeginCapture(stream, mode));
  show("copy", cuMemcpyDtoDAsync(block, block + kMiB, 4096, stream));
  if (both || std::strcmp(what, "allocate") == 0) {
    show("allocate during capture", cuMemAlloc(&during, 4 * kMiB));
  }
  if (both || std::strcmp(what, "free") == 0) show("free during capture", cuMemFree(block));
  CUgraph graph = nullptr;
  show("end of capture", cuStreamEndCapture(stream, &graph));

  CUdeviceptr after = 0;
  show("allocate after", cuMemAlloc(&after, 4 * kMiB));
  std::printf("not the block that the graph uses: %d\n", after != block);
  show("free after", cuMemFree(after));
  show("wait", cuCtxSynchronize());
}
