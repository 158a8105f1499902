// Frees memory that a copy is still using and allocates again: the copy must not see it.
// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <vector>

#include "test/programs/driver.h"

static constexpr std::size_t kBytes = 8 * kMiB;

static std::size_t count_wrong(const unsigned char* bytes, int expected) {
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < kBytes; ++i) wrong += bytes[i] != expected;
  return wrong;
}

// A copy out of device memory is in flight while its source is freed and handed out again.
static std::size_t free_the_source(CUstream busy, CUstream other, unsigned char* pinned) {
  CUdeviceptr source = allocate(kBytes);
  MUST(cuMemsetD8(source, 0x11, kBytes));
  MUST(cuCtxSynchronize());
  MUST(cuMemcpyDtoHAsync(pinned, source, kBytes, busy));
  MUST(cuMemFree(source));
  CUdeviceptr next = allocate(kBytes);
  MUST(cuMemsetD8Async(next, 0x22, kBytes, other));
  MUST(cuStreamSynchronize(busy));
  MUST(cuStreamSynchronize(other));
  MUST(cuMemFree(next));
  return count_wrong(pinned, 0x11);
}

// The same for pinned memory that a copy to the device still reads.
static std::size_t free_the_staging(CUstream busy) {
  CUdeviceptr target = allocate(kBytes);
  void *staging = nullptr, *next = nullptr;
  MUST(cuMemHostAlloc(&staging, kBytes, 0));
  std::memset(staging, 0x33, kBytes);
  MUST(cuMemcpyHtoDAsync(target, staging, kBytes, busy));
  MUST(cuMemFreeHost(staging));
  MUST(cuMemHostAlloc(&next, kBytes, 0));
  std::memset(next, 0x44, kBytes);
  MUST(cuStreamSynchronize(busy));
  std::vector<unsigned char> back(kBytes);
  MUST(cuMemcpyDtoH(back.data(), target, kBytes));
  MUST(cuMemFreeHost(next));
  MUST(cuMemFree(target));
  return count_wrong(back.data(), 0x33);
}

int main() {
  start();
  CUstream busy, other;
  MUST(cuStreamCreate(&busy, CU_STREAM_NON_BLOCKING));
  MUST(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
  void* pinned = nullptr;
  MUST(cuMemHostAlloc(&pinned, kBytes, 0));
  std::size_t device = 0, host = 0;
  for (int round = 0; round < 6; ++round) {
    device += free_the_source(busy, other, static_cast<unsigned char*>(pinned));
    host += free_the_staging(busy);
  }
  std::printf("wrong bytes: device %zu, host %zu\n", device, host);
}
