// Names streams by NVTX, before and after it allocates in them; a destroyed one's name is nobody's.
// "killed": ends by SIGKILL.
// SPDX-License-Identifier: Apache-2.0
#include <nvtx3/nvToolsExtCuda.h>

#include <csignal>

#include "test/programs/driver.h"

static void allocate_in(CUstream stream, std::size_t bytes) {
  CUdeviceptr pointer = 0;
  MUST(cuMemAllocAsync(&pointer, bytes, stream));
}

int main(int argc, char**) {
  start();
  CUstream copy = nullptr, compute = nullptr, short_lived = nullptr, nameless = nullptr;
  for (CUstream* stream : {&copy, &compute, &short_lived}) {
    MUST(cuStreamCreate(stream, CU_STREAM_NON_BLOCKING));
  }
  nvtxNameCuStreamA(copy, "copy");
  nvtxNameCuStreamA(short_lived, "gone");
  MUST(cuStreamDestroy(short_lived));
  MUST(cuStreamCreate(&nameless, CU_STREAM_NON_BLOCKING));
  allocate_in(copy, 1 * kMiB);
  allocate_in(compute, 2 * kMiB);
  nvtxNameCuStreamW(compute, L"Z\u00e4hler");
  allocate_in(compute, 4 * kMiB);
  allocate_in(nameless, 8 * kMiB);
  nvtxNameCuStreamA(nullptr, "main");
  allocate_in(nullptr, 16 * kMiB);
  if (argc > 1) std::raise(SIGKILL);
}
