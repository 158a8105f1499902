// A capture that begins while one context is current and ends while another is.
// SPDX-License-Identifier: Apache-2.0
#include "test/programs/driver.h"

int main() {
  CUcontext first = start();
  CUstream stream = nullptr;
  MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  create_context();
  show("begin", cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  MUST(cuCtxSetCurrent(first));
  CUgraph graph = nullptr;
  show("end", cuStreamEndCapture(stream, &graph));
  for (int i = 0; i < 3; ++i) show("free", cuMemFree(allocate(kMiB)));
}
