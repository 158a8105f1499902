// External memory: accepted from a file descriptor that nobody looks at. Each mapping is ordinary
// memory of the device, of its own.
// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include "test/simulator/driver/driver.h"

struct CUextMemory_st {
  std::uint64_t bytes = 0;
};

namespace vramscope::simulator {

namespace {

Handles<CUextMemory_st>& external_memories() {
  static auto& all = *new Handles<CUextMemory_st>;
  return all;
}

}  // namespace

namespace body {

// A descriptor that was imported belongs to the driver (cuda.h).
CUresult cuImportExternalMemory(CUexternalMemory* memory,
                                const CUDA_EXTERNAL_MEMORY_HANDLE_DESC* told) {
  if (memory == nullptr || told == nullptr || told->size == 0) return CUDA_ERROR_INVALID_VALUE;
  if (told->flags > CUDA_EXTERNAL_MEMORY_DEDICATED) return CUDA_ERROR_INVALID_VALUE;
  if (told->type != CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD) return CUDA_ERROR_NOT_SUPPORTED;
  if (close(told->handle.fd) != 0) return CUDA_ERROR_INVALID_HANDLE;
  auto made = std::make_shared<CUextMemory_st>();
  made->bytes = told->size;
  *memory = external_memories().add(std::move(made));
  return CUDA_SUCCESS;
}

CUresult cuExternalMemoryGetMappedBuffer(CUdeviceptr* pointer, CUexternalMemory handle,
                                         const CUDA_EXTERNAL_MEMORY_BUFFER_DESC* told) {
  const auto memory = external_memories().find(handle);
  if (!memory) return CUDA_ERROR_INVALID_HANDLE;
  if (pointer == nullptr || told == nullptr || told->flags != 0 || told->size == 0 ||
      told->offset > memory->bytes || told->size > memory->bytes - told->offset) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return body::cuMemAlloc_v2(pointer, told->size);
}

CUresult cuExternalMemoryGetMappedMipmappedArray(
    CUmipmappedArray* mipmap, CUexternalMemory handle,
    const CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC* told) {
  const auto memory = external_memories().find(handle);
  if (!memory) return CUDA_ERROR_INVALID_HANDLE;
  if (mipmap == nullptr || told == nullptr || told->offset >= memory->bytes) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return body::cuMipmappedArrayCreate(mipmap, &told->arrayDesc, told->numLevels);
}

CUresult cuDestroyExternalMemory(CUexternalMemory memory) {
  return external_memories().remove(memory) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

}  // namespace body

}  // namespace vramscope::simulator
