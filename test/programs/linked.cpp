// Linked with -lcuda: the exported symbols themselves are called.
// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <vector>

#include "test/programs/driver.h"

int main() {
  CUcontext context = start();
  CUdeviceptr block = allocate(3 * kMiB);
  void* pinned = nullptr;
  MUST(cuMemHostAlloc(&pinned, kMiB, CU_MEMHOSTALLOC_PORTABLE));
  std::memset(pinned, 7, kMiB);
  CUstream stream;
  MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  MUST(cuMemcpyHtoDAsync(block, pinned, kMiB, stream));
  MUST(cuStreamSynchronize(stream));
  std::vector<unsigned char> back(kMiB);
  MUST(cuMemcpyDtoH(back.data(), block, back.size()));
  std::printf("first %d, last %d\n", back.front(), back.back());

  CUdeviceptr base = 0;
  std::size_t size = 0;
  MUST(cuMemGetAddressRange(&base, &size, block + 1000));
  std::printf("range starts at the block: %d\n", base == block);
  std::printf("range holds the request: %d\n", size >= 3 * kMiB);
  unsigned flags = 0;
  show("host flags", cuMemHostGetFlags(&flags, pinned));
  std::printf("portable: %d\n", (flags & CU_MEMHOSTALLOC_PORTABLE) != 0);
  CUcontext owner = nullptr;
  show("context of the block", cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, block));
  std::printf("it is ours: %d\n", owner == context);

  MUST(cuMemFree(block));
  show("range of a freed block", cuMemGetAddressRange(&base, &size, block));
  MUST(cuMemFreeHost(pinned));
  MUST(cuStreamDestroy(stream));
}
