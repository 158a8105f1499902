// Pinned blocks that follow others of other sizes: each is an allocation of its own to every
// question, and what its neighbours go through leaves it alone.
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstring>
#include <vector>

#include "test/programs/driver.h"

static CUdeviceptr address_of(const void* pointer) {
  return reinterpret_cast<CUdeviceptr>(pointer);
}

static char* pin(std::size_t bytes, unsigned flags = 0) {
  void* block = nullptr;
  MUST(cuMemHostAlloc(&block, bytes, flags));
  return static_cast<char*>(block);
}

template <class Value>
static Value attribute(CUpointer_attribute name, const char* pointer) {
  Value value{};
  MUST(cuPointerGetAttribute(&value, name, address_of(pointer)));
  return value;
}

static void describe(const char* name, const char* block, std::size_t bytes) {
  std::printf("%s: whole pages %d, starts %d, bytes %d\n", name, address_of(block) % 4096 == 0,
              attribute<CUdeviceptr>(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, block + bytes / 2) ==
                  address_of(block),
              attribute<std::size_t>(CU_POINTER_ATTRIBUTE_RANGE_SIZE, block) == bytes);
  std::printf("%s: mapping starts %d\n", name,
              attribute<CUdeviceptr>(CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR, block + bytes / 2) ==
                  address_of(block));
  CUdeviceptr start = 0, device = 0;
  std::size_t size = 0;
  unsigned flags = 0;
  MUST(cuMemGetAddressRange(&start, &size, address_of(block) + bytes - 1));
  MUST(cuMemHostGetDevicePointer(&device, const_cast<char*>(block) + 1, 0));
  MUST(cuMemHostGetFlags(&flags, const_cast<char*>(block)));
  std::printf("%s: range %d, device pointer %d, flags %u\n", name,
              start == address_of(block) && size == bytes, device == address_of(block) + 1, flags);
}

static bool holds(const char* block, std::size_t bytes, char value) {
  for (std::size_t i = 0; i < bytes; ++i) {
    if (block[i] != value) return false;
  }
  return true;
}

// What one large block leaves behind is cut for others.
static void neighbours(unsigned flags) {
  MUST(cuMemFreeHost(pin(12 * kMiB, flags)));
  constexpr std::size_t kBytes[] = {3 * kMiB + 5, 2 * kMiB, 4 * kMiB - 100};
  std::vector<char*> blocks;
  for (const std::size_t bytes : kBytes) blocks.push_back(pin(bytes, flags));
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    std::memset(blocks[i], 1 + static_cast<int>(i), kBytes[i]);
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) describe("block", blocks[i], kBytes[i]);
  show("free inside", cuMemFreeHost(blocks[1] + 4096));
  show("free in the middle", cuMemFreeHost(blocks[1]));
  show("again", cuMemFreeHost(blocks[1]));
  char* next = pin(kMiB + 7, flags);
  std::memset(next, 9, kMiB + 7);
  std::printf("below %d, above %d, next %d\n", holds(blocks[0], kBytes[0], 1),
              holds(blocks[2], kBytes[2], 3), holds(next, kMiB + 7, 9));
  CUdeviceptr device = allocate(4 * kMiB);
  MUST(cuMemcpyHtoD(device, blocks[2], kBytes[2]));
  MUST(cuMemcpyDtoH(blocks[0], device, kBytes[0]));
  std::printf("copied %d, next %d\n", holds(blocks[0], kBytes[0], 3), holds(next, kMiB + 7, 9));
  MUST(cuMemFree(device));
  for (char* block : {blocks[0], blocks[2], next}) show("free", cuMemFreeHost(block));
}

// Small ones, which share from the start.
static void small_ones() {
  std::vector<char*> blocks;
  for (int i = 0; i < 50; ++i) {
    blocks.push_back(pin(100 + 1000 * static_cast<std::size_t>(i)));
    std::memset(blocks.back(), i, 100 + 1000 * static_cast<std::size_t>(i));
  }
  for (std::size_t i = 0; i < blocks.size(); i += 2) MUST(cuMemFreeHost(blocks[i]));
  bool intact = true;
  for (std::size_t i = 1; i < blocks.size(); i += 2) {
    intact &= holds(blocks[i], 100 + 1000 * i, static_cast<char>(i));
  }
  std::printf("intact %d\n", intact);
  for (std::size_t i = 1; i < blocks.size(); i += 2) MUST(cuMemFreeHost(blocks[i]));
}

int main() {
  MUST(cuInit(0));
  start();
  neighbours(0);
  neighbours(CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_WRITECOMBINED);
  small_ones();
}
