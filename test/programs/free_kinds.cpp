// cuMemFree of everything it takes and of what it does not; each kind freed twice and inside.
// SPDX-License-Identifier: Apache-2.0
#include <functional>
#include <vector>

#include "test/programs/driver.h"

static void wrongly_and_rightly(const char* what, CUdeviceptr block) {
  std::printf("%s\n", what);
  show("free inside", cuMemFree(block + 4096));
  show("free", cuMemFree(block));
  show("free again", cuMemFree(block));
}

int main() {
  start();
  CUdevice device;
  CUstream stream;
  CUmemoryPool pool;
  CUdeviceptr block = 0;
  std::size_t pitch = 0;
  MUST(cuDeviceGet(&device, 0));
  MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  MUST(cuDeviceGetDefaultMemPool(&pool, device));
  wrongly_and_rightly("plain", allocate(3 * kMiB));
  wrongly_and_rightly("plain and small", allocate(5000));
  MUST(cuMemAllocPitch(&block, &pitch, 1000, 300, 4));
  wrongly_and_rightly("pitched", block);
  MUST(cuMemAllocManaged(&block, 3 * kMiB, CU_MEM_ATTACH_GLOBAL));
  wrongly_and_rightly("managed", block);
  MUST(cuMemAllocAsync(&block, 3 * kMiB, stream));
  MUST(cuStreamSynchronize(stream));
  wrongly_and_rightly("stream-ordered", block);
  MUST(cuMemAllocFromPoolAsync(&block, 3 * kMiB, pool, stream));
  MUST(cuStreamSynchronize(stream));
  wrongly_and_rightly("of a pool", block);

  void* pinned = nullptr;
  std::vector<char> registered(3 * kMiB);
  MUST(cuMemHostAlloc(&pinned, 3 * kMiB, 0));
  MUST(cuMemHostRegister(registered.data(), registered.size(), 0));
  show("free of pinned", cuMemFree(reinterpret_cast<CUdeviceptr>(pinned)));
  show("free of registered", cuMemFree(reinterpret_cast<CUdeviceptr>(registered.data())));
  show("pinned is still there", cuMemFreeHost(pinned));
  show("registered is still there", cuMemHostUnregister(registered.data()));
}
