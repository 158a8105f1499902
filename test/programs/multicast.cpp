// Multicast objects: handles that write to the memory of several devices.
// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "test/programs/by_name.h"

int main() {
  start_by_name();
  CUmulticastObjectProp prop;
  std::memset(&prop, 0, sizeof prop);
  prop.numDevices = 1;
  prop.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  std::size_t granule = std::size_t{2} << 20;
  CALL(cuMulticastGetGranularity, &granule, &prop, CU_MULTICAST_GRANULARITY_MINIMUM);
  prop.size = granule;
  CUmemGenericAllocationHandle object{}, memory{};
  if (CALL(cuMulticastCreate, &object, &prop) != CUDA_SUCCESS) return 0;
  CUmemAllocationProp where;
  std::memset(&where, 0, sizeof where);
  where.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  where.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  where.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CALL(cuMulticastAddDevice, object, 0);
  CALL(cuMemCreate, &memory, granule, &where, 0ull);
  CALL(cuMulticastBindMem, object, std::size_t{0}, memory, std::size_t{0}, granule, 0ull);
  CALL(cuMemRelease, memory);
  CALL(cuMulticastUnbind, object, 0, std::size_t{0}, granule);
  CALL(cuMemRelease, object);
}
