// Every kind of memory that a program can ask the driver for, and the questions about it.
// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "test/programs/driver.h"

[[gnu::noinline]] static void managed() {
  CUdeviceptr block = 0;
  show("managed", cuMemAllocManaged(&block, 3 * kMiB, CU_MEM_ATTACH_GLOBAL));
  int is_managed = 0;
  CUmemorytype type{};
  CUpointer_attribute which[] = {CU_POINTER_ATTRIBUTE_IS_MANAGED, CU_POINTER_ATTRIBUTE_MEMORY_TYPE};
  void* answers[] = {&is_managed, &type};
  show("its attributes", cuPointerGetAttributes(2, which, answers, block));
  std::printf("managed %d, type %d\n", is_managed, static_cast<int>(type));
  show("free", cuMemFree(block));
}

[[gnu::noinline]] static void stream_ordered(CUstream stream) {
  CUdeviceptr one = 0, two = 0;
  show("stream-ordered", cuMemAllocAsync(&one, 2 * kMiB, stream));
  show("stream-ordered", cuMemAllocAsync(&two, 100, stream));
  show("set", cuMemsetD8Async(one, 5, 2 * kMiB, stream));
  show("free in order", cuMemFreeAsync(one, stream));
  show("wait", cuStreamSynchronize(stream));
  show("free as plain memory", cuMemFree(two));
  CUdeviceptr plain = allocate(kMiB);
  show("plain memory freed in order", cuMemFreeAsync(plain, stream));
  show("wait", cuStreamSynchronize(stream));
  show("again", cuMemFree(plain));
}

[[gnu::noinline]] static void pitched() {
  CUdeviceptr block = 0;
  std::size_t pitch = 0;
  show("pitched", cuMemAllocPitch(&block, &pitch, 1001, 70, 4));
  std::printf("pitch %zu\n", pitch);
  show("free", cuMemFree(block));
}

[[gnu::noinline]] static void host(std::vector<char>& memory) {
  void* pinned = nullptr;
  show("pinned", cuMemAllocHost(&pinned, 5000));
  CUdeviceptr seen = 0;
  show("its device address", cuMemHostGetDevicePointer(&seen, pinned, 0));
  std::printf("the same address: %d\n", seen == reinterpret_cast<CUdeviceptr>(pinned));
  show("free", cuMemFreeHost(pinned));
  show("register", cuMemHostRegister(memory.data(), memory.size(), CU_MEMHOSTREGISTER_PORTABLE));
}

[[gnu::noinline]] static void attributes() {
  CUdeviceptr block = allocate(kMiB), base = 0;
  std::size_t size = 0;
  unsigned long long id = 0, other_id = 0;
  int ordinal = -1;
  show("range start",
       cuPointerGetAttribute(&base, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, block + 7));
  show("range size", cuPointerGetAttribute(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, block + 7));
  show("device", cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, block));
  std::printf("start right %d, size %d, device %d\n", base == block, size >= kMiB, ordinal);
  CUdeviceptr other = allocate(kMiB);
  show("id", cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, block));
  show("other id", cuPointerGetAttribute(&other_id, CU_POINTER_ATTRIBUTE_BUFFER_ID, other));
  std::printf("ids differ: %d\n", id != other_id);
  MUST(cuMemFree(other));
  MUST(cuMemFree(block));
  show("id of a freed block", cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, block));
}

int main() {
  start();
  std::vector<char> memory(2 * kMiB + 100);
  CUstream stream;
  MUST(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
  managed();
  stream_ordered(stream);
  pitched();
  host(memory);
  attributes();
  CUdeviceptr left = 0;
  show("left behind", cuMemAllocManaged(&left, kMiB, CU_MEM_ATTACH_HOST));
  show("unregister", cuMemHostUnregister(memory.data()));
  show("destroy", cuStreamDestroy(stream));
}
