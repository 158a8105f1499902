// A pool of the program's own, whose contents it names by NVTX's memory extension.
// SPDX-License-Identifier: Apache-2.0
// Prints the handles that it gets: whether the heap's is its address, or that of another tool.
#include <nvtx3/nvToolsExt.h>

#if __has_include(<nvtx3/nvToolsExtMem.h>)
#include <nvtx3/nvToolsExtMem.h>

#include <cstdio>
#include <iterator>

#include "test/programs/driver.h"

namespace {

const void* at(CUdeviceptr pool, std::size_t mebibytes) {
  return reinterpret_cast<const void*>(pool + mebibytes * kMiB);
}

nvtxMemHeapHandle_t heap_of(nvtxDomainHandle_t domain, CUdeviceptr pool, std::size_t bytes,
                            const char* name) {
  const nvtxMemVirtualRangeDesc_t range = {bytes, at(pool, 0)};
  nvtxMemHeapDesc_t heap{};
  heap.extCompatID = NVTX_EXT_COMPATID_MEM;
  heap.structSize = sizeof heap;
  heap.usage = NVTX_MEM_HEAP_USAGE_TYPE_SUB_ALLOCATOR;
  heap.type = NVTX_MEM_TYPE_VIRTUAL_ADDRESS;
  heap.typeSpecificDescSize = sizeof range;
  heap.typeSpecificDesc = &range;
  heap.messageType = NVTX_MESSAGE_TYPE_ASCII;
  heap.message.ascii = name;
  return nvtxMemHeapRegister(domain, &heap);
}

void add_regions(nvtxMemHeapHandle_t heap, const nvtxMemVirtualRangeDesc_t* ranges,
                 std::size_t count) {
  nvtxMemRegionsRegisterBatch_t batch{};
  batch.extCompatID = NVTX_EXT_COMPATID_MEM;
  batch.structSize = sizeof batch;
  batch.regionType = NVTX_MEM_TYPE_VIRTUAL_ADDRESS;
  batch.heap = heap;
  batch.regionCount = count;
  batch.regionDescElementSize = sizeof *ranges;
  batch.regionDescElements = ranges;
  nvtxMemRegionsRegister(nullptr, &batch);
}

void name_region(const void* region, const char* name) {
  nvtxMemRegionNameDesc_t one{};
  one.regionRefType = NVTX_MEM_REGION_REF_TYPE_POINTER;
  one.nameType = NVTX_MESSAGE_TYPE_ASCII;
  one.region.pointer = region;
  one.name.ascii = name;
  nvtxMemRegionsNameBatch_t batch{};
  batch.extCompatID = NVTX_EXT_COMPATID_MEM;
  batch.structSize = sizeof batch;
  batch.regionCount = 1;
  batch.regionElementSize = sizeof one;
  batch.regionElements = &one;
  nvtxMemRegionsName(nullptr, &batch);
}

void remove_region(const void* region) {
  nvtxMemRegionRef_t one{};
  one.pointer = region;
  nvtxMemRegionsUnregisterBatch_t batch{};
  batch.extCompatID = NVTX_EXT_COMPATID_MEM;
  batch.structSize = sizeof batch;
  batch.refType = NVTX_MEM_REGION_REF_TYPE_POINTER;
  batch.refCount = 1;
  batch.refElementSize = sizeof one;
  batch.refElements = &one;
  nvtxMemRegionsUnregister(nullptr, &batch);
}

void resize_region(const void* region, std::size_t bytes) {
  const nvtxMemVirtualRangeDesc_t range = {bytes, region};
  nvtxMemRegionsResizeBatch_t batch{};
  batch.extCompatID = NVTX_EXT_COMPATID_MEM;
  batch.structSize = sizeof batch;
  batch.regionType = NVTX_MEM_TYPE_VIRTUAL_ADDRESS;
  batch.regionDescCount = 1;
  batch.regionDescElementSize = sizeof range;
  batch.regionDescElements = &range;
  nvtxMemRegionsResize(nullptr, &batch);
}

}  // namespace

int main() {
  start();
  const CUdeviceptr pool = allocate(64 * kMiB), other = allocate(16 * kMiB);
  const nvtxDomainHandle_t domain = nvtxDomainCreateA("serve");
  const nvtxMemHeapHandle_t heap = heap_of(domain, pool, 64 * kMiB, "kv cache");
  std::printf("%s\n", reinterpret_cast<const void*>(heap) == at(pool, 0) ? "its address"
                      : heap == nullptr                                  ? "none"
                                                                         : "another");
  const nvtxMemVirtualRangeDesc_t regions[] = {{8 * kMiB, at(pool, 0)},
                                               {4 * kMiB, at(pool, 8)},
                                               {20 * kMiB, at(pool, 12)},
                                               {2 * kMiB, at(pool, 32)}};
  add_regions(heap, regions, std::size(regions));
  name_region(at(pool, 0), "keys");
  name_region(at(pool, 8), "keys");
  name_region(at(pool, 12), "values");
  resize_region(at(pool, 12), 24 * kMiB);
  remove_region(at(pool, 8));
  remove_region(at(pool, 40));  // there is none

  const nvtxMemHeapHandle_t gone = heap_of(nullptr, other, 16 * kMiB, "scratch");
  const nvtxMemVirtualRangeDesc_t part = {1 * kMiB, at(other, 0)};
  add_regions(gone, &part, 1);
  nvtxMemHeapReset(nullptr, gone);
  add_regions(gone, &part, 1);
  nvtxMemHeapUnregister(nullptr, gone);
}

#else

// The headers of this toolkit have no such extension.
int main() {}

#endif
