// What the driver says of ordinary memory that pages mapped under it would say otherwise:
// attributes with and without a context, at both ends of a block, and calls that take mappings
// only.
// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <set>
#include <vector>

#include "test/programs/driver.h"

static std::set<unsigned long long> ids;

static unsigned long long attribute(CUpointer_attribute name, CUdeviceptr address, CUresult* code) {
  unsigned long long value = 0;
  *code = cuPointerGetAttribute(&value, name, address);
  return value;
}

static void show_numbers(CUdeviceptr address) {
  for (const CUpointer_attribute name :
       {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS,
        CU_POINTER_ATTRIBUTE_IS_MANAGED, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
        CU_POINTER_ATTRIBUTE_RANGE_SIZE, CU_POINTER_ATTRIBUTE_MAPPED,
        CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS,
        CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, CU_POINTER_ATTRIBUTE_HOST_POINTER}) {
    CUresult code;
    const unsigned long long value = attribute(name, address, &code);
    std::printf("%d: %d, %llu\n", static_cast<int>(name), static_cast<int>(code), value);
  }
}

static void show_places(CUdeviceptr block, std::size_t bytes, CUdeviceptr address, CUcontext own) {
  CUresult code;
  unsigned long long value = attribute(CU_POINTER_ATTRIBUTE_DEVICE_POINTER, address, &code);
  std::printf("pointer: %d, the same %d\n", static_cast<int>(code), value == address);
  value = attribute(CU_POINTER_ATTRIBUTE_CONTEXT, address, &code);
  std::printf("context: %d, its own %d\n", static_cast<int>(code),
              value == reinterpret_cast<unsigned long long>(own));
  value = attribute(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, address, &code);
  std::printf("start: %d, the block's %d\n", static_cast<int>(code), value == block);
  const auto base = attribute(CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR, address, &code);
  const auto size = attribute(CU_POINTER_ATTRIBUTE_MAPPING_SIZE, address, &code);
  std::printf("mapping: %d, covers the block %d\n", static_cast<int>(code),
              base <= block && base + size >= block + bytes);
  CUdeviceptr both = 0;
  int ordinal = -1;
  CUpointer_attribute names[] = {CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
                                 CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
  void* answers[] = {&both, &ordinal};
  code = cuPointerGetAttributes(2, names, answers, address);
  std::printf("two at once: %d, the same %d, device %d\n", static_cast<int>(code), both == address,
              ordinal);
}

static void show_ids(CUdeviceptr block, std::size_t bytes) {
  for (const CUpointer_attribute name :
       {CU_POINTER_ATTRIBUTE_BUFFER_ID, CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID}) {
    CUresult first, last;
    const unsigned long long id = attribute(name, block, &first);
    const bool is_one = attribute(name, block + bytes - 1, &last) == id;
    std::printf("id: %d and %d, one %d\n", static_cast<int>(first), static_cast<int>(last), is_one);
    if (name == CU_POINTER_ATTRIBUTE_BUFFER_ID) ids.insert(id);
  }
}

static void show_calls(CUdeviceptr block, std::size_t bytes) {
  CUmemGenericAllocationHandle handle{};
  CUdeviceptr base = 0;
  std::size_t size = 0;
  show("retain a handle", cuMemRetainAllocationHandle(&handle, reinterpret_cast<void*>(block)));
  show("range", cuMemGetAddressRange(&base, &size, block + bytes - 1));
  std::printf("the block's %d, size %zu\n", base == block, size);
  for (CUdeviceptr page = block / (2 * kMiB) * (2 * kMiB); page < block + bytes; page += 2 * kMiB) {
    if (cuMemUnmap(page, 2 * kMiB) == CUDA_SUCCESS) std::printf("unmapped\n");
  }
}

// Whether other hardware may use it.
static void show_abilities(CUdeviceptr block) {
  CUresult code;
  const auto direct = attribute(CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE, block, &code);
#if CUDA_VERSION >= 12080
  const auto packed = attribute(CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE, block, &code);
#else
  const auto packed = direct;
#endif
  std::printf("RDMA %llu, decompression %llu\n", direct, packed);
}

// Argument: abilities, to tell only those.
int main(int argc, char**) {
  const CUcontext own = start();
  if (argc > 1) return show_abilities(allocate(kMiB)), 0;
  std::vector<CUdeviceptr> blocks;
  const std::size_t sizes[] = {1000, kMiB, 3 * kMiB + 512, 5 * kMiB, 30 * kMiB, 2 * kMiB};
  for (const std::size_t bytes : sizes) blocks.push_back(allocate(bytes));
  for (const CUcontext context : {own, CUcontext{nullptr}}) {
    MUST(cuCtxSetCurrent(context));
    std::printf("%s context\n", context != nullptr ? "with a" : "without");
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      for (const CUdeviceptr address : {blocks[i], blocks[i] + sizes[i] - 1}) {
        std::printf("of %zu bytes\n", sizes[i]);
        show_numbers(address);
        show_places(blocks[i], sizes[i], address, own);
      }
      show_ids(blocks[i], sizes[i]);
      show_calls(blocks[i], sizes[i]);
    }
  }
  std::printf("ids: %zu\n", ids.size());
  MUST(cuCtxSetCurrent(own));
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    MUST(cuMemsetD8(blocks[i], 0x5A, sizes[i]));
    std::printf("wrong bytes: %zu\n", count_wrong(blocks[i], sizes[i], 0x5A));
  }
}
