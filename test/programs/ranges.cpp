// What the driver says about addresses in, at the ends of and after the life of an allocation.
// SPDX-License-Identifier: Apache-2.0
#include <set>
#include <vector>

#include "test/programs/driver.h"

static CUcontext context;

static void ask(const char* where, CUdeviceptr block, std::size_t bytes, CUdeviceptr address) {
  CUdeviceptr base = 0, start = 0, pointer = 0;
  std::size_t size = 0, range = 0;
  CUcontext owner = nullptr;
  CUmemorytype type{};
  int ordinal = -1, managed = -1, is_mapped = -1;
  std::printf("%s\n", where);
  show("range", cuMemGetAddressRange(&base, &size, address));
  std::printf("starts there %d, size %zu of %zu\n", base == block, size, bytes);
  show("only the start", cuMemGetAddressRange(&base, nullptr, address));
  show("only the size", cuMemGetAddressRange(nullptr, &size, address));
  CUpointer_attribute which[] = {
      CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_RANGE_SIZE,
      CU_POINTER_ATTRIBUTE_CONTEXT,          CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
      CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,   CU_POINTER_ATTRIBUTE_IS_MANAGED,
      CU_POINTER_ATTRIBUTE_DEVICE_POINTER,   CU_POINTER_ATTRIBUTE_MAPPED};
  void* answers[] = {&start, &range, &owner, &type, &ordinal, &managed, &pointer, &is_mapped};
  show("all at once", cuPointerGetAttributes(8, which, answers, address));
  std::printf("starts there %d, size %zu, context %d, type %d, device %d, managed %d, pointer %d\n",
              start == block, range, owner == context, static_cast<int>(type), ordinal,
              managed & 0xff, pointer == address);
  for (CUpointer_attribute name : which) {
    unsigned long long value[2] = {};
    std::printf("%d: %d\n", static_cast<int>(name),
                static_cast<int>(cuPointerGetAttribute(value, name, address)));
  }
}

int main() {
  context = start();
  std::set<unsigned long long> ids;
  std::vector<CUdeviceptr> others;
  for (std::size_t bytes : {std::size_t{512}, std::size_t{1000}, kMiB, 3 * kMiB, 20 * kMiB}) {
    others.push_back(allocate(bytes));
    CUdeviceptr block = allocate(bytes);
    others.push_back(allocate(bytes));
    ask("at its start", block, bytes, block);
    ask("inside", block, bytes, block + bytes / 2);
    ask("at its last byte", block, bytes, block + bytes - 1);
    unsigned long long id = 0;
    for (CUdeviceptr each : {block, block + bytes - 1}) {
      show("id", cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, each));
      ids.insert(id);
    }
    MUST(cuMemFree(block));
    show("range of freed memory", cuMemGetAddressRange(nullptr, &bytes, block));
    CUdeviceptr again = allocate(bytes);
    show("id", cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, again));
    ids.insert(id);
    MUST(cuMemFree(again));
  }
  std::printf("ids of 10 allocations: %zu\n", ids.size());
  for (CUdeviceptr other : others) MUST(cuMemFree(other));
}
