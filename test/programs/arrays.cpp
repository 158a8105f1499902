// Arrays and mipmapped arrays: memory without an address, in the driver's own layout.
// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "test/programs/by_name.h"

template <class Descriptor>
static Descriptor flat(std::size_t width, std::size_t height) {
  Descriptor array;
  std::memset(&array, 0, sizeof array);
  array.Width = static_cast<decltype(array.Width)>(width);
  array.Height = static_cast<decltype(array.Height)>(height);
  array.Format = CU_AD_FORMAT_FLOAT;
  array.NumChannels = 4;
  return array;
}

static void destroy(CUresult created, const CUarray& array) {
  if (created == CUDA_SUCCESS) CALL(cuArrayDestroy, array);
}

// Memory is mapped into a sparse array afterwards: it has none when it is made.
static void sparse(CUDA_ARRAY3D_DESCRIPTOR shape) {
  CUarray array = nullptr;
  CUstream stream = nullptr;
  shape.Flags = CUDA_ARRAY3D_SPARSE;
  if (CALL(cuArray3DCreate_v2, &array, &shape) != CUDA_SUCCESS) return;
  CUarrayMapInfo nothing;
  std::memset(&nothing, 0, sizeof nothing);
  nothing.resourceType = CU_RESOURCE_TYPE_ARRAY;
  nothing.resource.array = array;
  nothing.memOperationType = CU_MEM_OPERATION_TYPE_UNMAP;
  nothing.memHandleType = CU_MEM_HANDLE_TYPE_GENERIC;
  nothing.deviceBitMask = 1;
  CALL(cuMemMapArrayAsync, &nothing, 1u, stream);
  CALL(cuMemMapArrayAsync_ptsz, &nothing, 1u, stream);
  CALL(cuArrayDestroy, array);
}

int main() {
  start_by_name();
  CUarray array = nullptr;
  auto oldest = flat<CUDA_ARRAY_DESCRIPTOR_v1>(64, 64);
  destroy(CALL(cuArrayCreate, &array, &oldest), array);
  auto plain = flat<CUDA_ARRAY_DESCRIPTOR>(1024, 256);
  destroy(CALL(cuArrayCreate_v2, &array, &plain), array);
  auto old_volume = flat<CUDA_ARRAY3D_DESCRIPTOR_v1>(16, 16);
  old_volume.Depth = 16;
  destroy(CALL(cuArray3DCreate, &array, &old_volume), array);
  auto volume = flat<CUDA_ARRAY3D_DESCRIPTOR>(64, 32);
  volume.Depth = 16;
  if (CALL(cuArray3DCreate_v2, &array, &volume) == CUDA_SUCCESS) {
    CUDA_ARRAY3D_DESCRIPTOR told;
    CALL(cuArray3DGetDescriptor_v2, &told, array);
    std::printf("%zu x %zu x %zu\n", told.Width, told.Height, told.Depth);
  }
  auto pyramid = flat<CUDA_ARRAY3D_DESCRIPTOR>(256, 256);
  CUmipmappedArray levels = nullptr;
  if (CALL(cuMipmappedArrayCreate, &levels, &pyramid, 9u) == CUDA_SUCCESS) {
    CALL(cuMipmappedArrayDestroy, levels);
  }
  sparse(flat<CUDA_ARRAY3D_DESCRIPTOR>(4096, 4096));
  volume.Width = volume.Height = 0;
  CALL(cuArray3DCreate_v2, &array, &volume);
  CALL(cuMipmappedArrayCreate, &levels, &volume, 3u);
  CALL(cuArrayDestroy, CUarray{nullptr});
  CALL(cuMipmappedArrayDestroy, CUmipmappedArray{nullptr});
}
