// Memory by handle: it lives until its last reference is released and its last mapping is gone.
// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cstdint>
#include <cstring>

#include "test/programs/by_name.h"

using Handle = CUmemGenericAllocationHandle;

static CUmemAllocationProp on_device() {
  CUmemAllocationProp prop;
  std::memset(&prop, 0, sizeof prop);
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  prop.location.id = 0;
  return prop;
}

static void share(Handle handle) {
  int file = -1;
  Handle imported{};
  const auto type = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  if (CALL(cuMemExportToShareableHandle, &file, handle, type, 0ull) != CUDA_SUCCESS) return;
  void* name = reinterpret_cast<void*>(static_cast<std::intptr_t>(file));
  if (CALL(cuMemImportFromShareableHandle, &imported, name, type) == CUDA_SUCCESS) {
    CALL(cuMemRelease, imported);
  }
  close(file);
}

// Two handles side by side, unmapped by one call.
static void map_two(CUdeviceptr range, std::size_t granule, Handle first, Handle second) {
  CUmemAccessDesc access;
  access.location = on_device().location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  CALL(cuMemMap, range, granule, std::size_t{0}, first, 0ull);
  CALL(cuMemMap, range + granule, 2 * granule, std::size_t{0}, second, 0ull);
  CALL(cuMemSetAccess, range, 3 * granule, &access, std::size_t{1});
  CALL(cuMemRelease, first);
  Handle retained{};
  void* address = reinterpret_cast<void*>(range);
  if (CALL(cuMemRetainAllocationHandle, &retained, address) == CUDA_SUCCESS) {
    std::printf("the same handle: %d\n", retained == first);
    CALL(cuMemRelease, retained);
  }
  CALL(cuMemUnmap, range, 3 * granule);
  CALL(cuMemUnmap, range, granule);
}

int main() {
  start_by_name();
  const CUmemAllocationProp prop = on_device();
  std::size_t granule = std::size_t{2} << 20;
  CALL(cuMemGetAllocationGranularity, &granule, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
  CUdeviceptr range = 0;
  Handle first{}, second{}, kept{};
  CALL(cuMemAddressReserve, &range, 4 * granule, std::size_t{0}, CUdeviceptr{0}, 0ull);
  CALL(cuMemCreate, &first, granule, &prop, 0ull);
  CALL(cuMemCreate, &second, 2 * granule, &prop, 0ull);
  CALL(cuMemCreate, &kept, granule, &prop, 0ull);
  CALL(cuMemCreate, &kept, granule + 1, &prop, 0ull);
  share(second);
  map_two(range, granule, first, second);
  CALL(cuMemRelease, second);
  CALL(cuMemRelease, second);
  CALL(cuMemAddressFree, range, 4 * granule);
}
