// Pools of the program's own: made, trimmed, shared, destroyed.
// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cstdint>
#include <cstring>

#include "test/programs/by_name.h"

static constexpr std::size_t kMiB = std::size_t{1} << 20;

static CUmemPoolProps on_device(CUmemAllocationHandleType shared) {
  CUmemPoolProps props;
  std::memset(&props, 0, sizeof props);
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.handleTypes = shared;
  props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  props.location.id = 0;
  return props;
}

// Imported into the process that exported it, which drivers may refuse.
static void share(CUmemoryPool pool, CUdeviceptr block) {
  int file = -1;
  const auto type = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  CUmemPoolPtrExportData words;
  std::memset(&words, 0, sizeof words);
  const CUresult exported = CALL(cuMemPoolExportPointer, &words, block);
  if (CALL(cuMemPoolExportToShareableHandle, &file, pool, type, 0ull) != CUDA_SUCCESS) return;
  CUmemoryPool other = nullptr;
  void* name = reinterpret_cast<void*>(static_cast<std::intptr_t>(file));
  if (CALL(cuMemPoolImportFromShareableHandle, &other, name, type, 0ull) == CUDA_SUCCESS) {
    CUdeviceptr imported = 0;
    if (exported == CUDA_SUCCESS &&
        CALL(cuMemPoolImportPointer, &imported, other, &words) == CUDA_SUCCESS) {
      CALL(cuMemFree_v2, imported);
    }
    CALL(cuMemPoolDestroy, other);
  }
  close(file);
}

static void use(CUmemAllocationHandleType shared) {
  CUmemoryPool pool = nullptr;
  const CUmemPoolProps props = on_device(shared);
  if (CALL(cuMemPoolCreate, &pool, &props) != CUDA_SUCCESS) return;
  CUdeviceptr block = 0;
  CUstream stream = nullptr;
  if (CALL(cuMemAllocFromPoolAsync, &block, 3 * kMiB, pool, stream) == CUDA_SUCCESS) {
    if (shared != CU_MEM_HANDLE_TYPE_NONE) share(pool, block);
    CALL(cuMemFreeAsync, block, stream);
    CALL(cuStreamSynchronize, stream);
  }
  CALL(cuMemPoolTrimTo, pool, std::size_t{0});
  CALL(cuMemPoolDestroy, pool);
}

int main() {
  start_by_name();
  use(CU_MEM_HANDLE_TYPE_NONE);
  use(CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
}
