// Asks of ordinary memory what a mapping of pages under it would answer otherwise: contents, owner,
// handles, peers, and that it ends with its context.
// SPDX-License-Identifier: Apache-2.0
#include "test/programs/driver.h"

static std::size_t free_bytes() {
  std::size_t free = 0, total = 0;
  MUST(cuMemGetInfo(&free, &total));
  return free;
}

static void show_answers(CUdeviceptr block, std::size_t bytes, CUcontext own) {
  CUcontext context = nullptr;
  std::size_t size = 0;
  CUmemGenericAllocationHandle handle{};
  MUST(cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, block));
  MUST(cuPointerGetAttribute(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, block));
  std::printf("context is its own: %d, size is exact: %d\n", context == own, size == bytes);
  show("retain a handle", cuMemRetainAllocationHandle(&handle, reinterpret_cast<void*>(block)));
}

// Memory that was there before a second device was let in, and memory that came later.
static void show_peer(CUcontext first, CUdeviceptr before) {
  int count = 0, can = 0;
  MUST(cuDeviceGetCount(&count));
  if (count > 1) MUST(cuDeviceCanAccessPeer(&can, 1, 0));
  if (can == 0) return;
  CUdevice device;
  CUcontext second;
  MUST(cuDeviceGet(&device, 1));
  MUST(cuDevicePrimaryCtxRetain(&second, device));
  MUST(cuCtxSetCurrent(second));
  show("enable", cuCtxEnablePeerAccess(first, 0));
  const CUdeviceptr copy = allocate(30 * kMiB);
  MUST(cuMemcpyDtoD(copy, before, 30 * kMiB));
  std::printf("wrong bytes of memory of before: %zu\n", count_wrong(copy, 30 * kMiB, 0x5A));
  MUST(cuCtxSetCurrent(first));
  const CUdeviceptr after = allocate(50 * kMiB);
  MUST(cuMemsetD8(after, 0x3C, 50 * kMiB));
  MUST(cuCtxSynchronize());
  MUST(cuCtxSetCurrent(second));
  MUST(cuMemcpyDtoD(copy, after + 20 * kMiB, 30 * kMiB));
  std::printf("wrong bytes of memory of later: %zu\n", count_wrong(copy, 30 * kMiB, 0x3C));
  MUST(cuCtxSetCurrent(first));
}

// Blocks grow and shrink around one that stays.
static void show_growth() {
  const CUdeviceptr stays = allocate(5 * kMiB);
  MUST(cuMemsetD8(stays, 0x11, 5 * kMiB));
  for (std::size_t size : {15, 70, 200, 30}) {
    const CUdeviceptr block = allocate(size * kMiB);
    MUST(cuMemsetD8(block, 0x22, size * kMiB));
    std::printf("%zu MiB: wrong bytes: %zu\n", size, count_wrong(block, size * kMiB, 0x22));
    MUST(cuMemFree(block));
  }
  std::printf("wrong bytes: %zu\n", count_wrong(stays, 5 * kMiB, 0x11));
}

int main() {
  CUcontext context = start();
  const std::size_t before = free_bytes();
  const CUdeviceptr block = allocate(30 * kMiB);
  MUST(cuMemsetD8(block, 0x5A, 30 * kMiB));
  show_answers(block, 30 * kMiB, context);
  static_cast<void>(allocate(1000));
  show_growth();
  show_peer(context, block);
  MUST(cuDevicePrimaryCtxReset(0));
  context = start();
  std::printf("all comes back with the context: %d\n", free_bytes() == before);
}
