// Descriptions of tensors for kernels: opaque, and no kernel reads one here.
// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "test/simulator/driver/driver.h"

namespace vramscope::simulator {

namespace {

constexpr std::uintptr_t kAlignment = 16;  // of the memory (cuda.h)
constexpr int kFirstWithIm2colWide = 10;   // of major compute capabilities
constexpr int kFirst = 9;

CUresult write_address(CUtensorMap* map, const void* address, int first) {
  if (configuration().model.major < first) return CUDA_ERROR_NOT_SUPPORTED;
  if (map == nullptr || reinterpret_cast<std::uintptr_t>(address) % kAlignment != 0)
    return CUDA_ERROR_INVALID_VALUE;
  std::memset(map, 0, sizeof *map);
  std::memcpy(map, &address, sizeof address);
  return CUDA_SUCCESS;
}

}  // namespace

namespace body {

CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType, cuuint32_t, void* address,
                                const cuuint64_t*, const cuuint64_t*, const cuuint32_t*,
                                const cuuint32_t*, CUtensorMapInterleave, CUtensorMapSwizzle,
                                CUtensorMapL2promotion, CUtensorMapFloatOOBfill) {
  return write_address(map, address, kFirst);
}

CUresult cuTensorMapEncodeIm2col(CUtensorMap* map, CUtensorMapDataType, cuuint32_t, void* address,
                                 const cuuint64_t*, const cuuint64_t*, const int*, const int*,
                                 cuuint32_t, cuuint32_t, const cuuint32_t*, CUtensorMapInterleave,
                                 CUtensorMapSwizzle, CUtensorMapL2promotion,
                                 CUtensorMapFloatOOBfill) {
  return write_address(map, address, kFirst);
}

CUresult cuTensorMapEncodeIm2colWide(CUtensorMap* map, CUtensorMapDataType, cuuint32_t,
                                     void* address, const cuuint64_t*, const cuuint64_t*, int, int,
                                     cuuint32_t, cuuint32_t, const cuuint32_t*,
                                     CUtensorMapInterleave, CUtensorMapIm2ColWideMode,
                                     CUtensorMapSwizzle, CUtensorMapL2promotion,
                                     CUtensorMapFloatOOBfill) {
  return write_address(map, address, kFirstWithIm2colWide);
}

CUresult cuTensorMapReplaceAddress(CUtensorMap* map, void* address) {
  return write_address(map, address, kFirst);
}

}  // namespace body

}  // namespace vramscope::simulator
