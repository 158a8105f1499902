// Exports pointers to other processes: a part of a shared segment must never be exported wrongly.
// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "test/programs/driver.h"

namespace {

int is_capable(CUdeviceptr address) {
  int answer = 0;  // a bool, in as many bytes as the driver likes
  if (cuPointerGetAttribute(&answer, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, address) != 0)
    return -1;
  return answer != 0;
}

void describe(const char* name, CUdeviceptr address) {
  CUdeviceptr start = 0, range_start = 0;
  std::size_t bytes = 0, range_bytes = 0;
  cuMemGetAddressRange(&start, &bytes, address + 100);
  cuPointerGetAttribute(&range_start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, address + 100);
  cuPointerGetAttribute(&range_bytes, CU_POINTER_ATTRIBUTE_RANGE_SIZE, address + 100);
  std::printf("%s: %zu bytes, begins here %d, the attributes say the same %d\n", name, bytes,
              start == address, range_start == start && range_bytes == bytes);
}

}  // namespace

// "large": no block is small enough to share a segment.
int main(int argc, char** argv) {
  const bool is_large = argc > 1 && std::strcmp(argv[1], "large") == 0;
  const std::size_t least = is_large ? 3 * kMiB : kMiB, odd_bytes = is_large ? 3'100'001 : 100'001;
  start();
  CUipcMemHandle handle{}, second{};
  const CUdeviceptr small = allocate(least), odd = allocate(odd_bytes), large = allocate(64 * kMiB);
  std::printf("can be exported: small %d, odd %d, large %d\n", is_capable(small), is_capable(odd),
              is_capable(large));
  show("export of a small block", cuIpcGetMemHandle(&handle, small));
  show("export of a block of odd size", cuIpcGetMemHandle(&handle, odd));
  show("export of a large block", cuIpcGetMemHandle(&handle, large));
  show("export by a pointer inside", cuIpcGetMemHandle(&second, large + kMiB));
  const CUdeviceptr later = allocate(least);
  show("export of a block allocated after an export", cuIpcGetMemHandle(&second, later));
  std::printf("can be exported: later %d\n", is_capable(later));
  describe("small", small);
  describe("odd", odd);
  describe("large", large);
  show("free of the small block", cuMemFree(small));
  show("free of the odd block", cuMemFree(odd));
  show("free of the large block", cuMemFree(large));
  show("free of it again", cuMemFree(large));
  const CUdeviceptr again = allocate(64 * kMiB);
  show("export of a block of the same size", cuIpcGetMemHandle(&second, again));
  std::printf("another handle: %d\n", std::memcmp(&handle, &second, sizeof handle) != 0);
  show("free of the later block", cuMemFree(later));
  show("free of the last block", cuMemFree(again));
  show("export of a freed block", cuIpcGetMemHandle(&handle, later));
  std::printf("can be exported: freed %d\n", is_capable(later));
}
