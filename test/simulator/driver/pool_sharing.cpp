// Export and import of pools. The handle leads to the pool inside this process only, and what it
// exports cannot be mapped a second time.
// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "test/simulator/driver/driver.h"

namespace vramscope::simulator {

namespace {

// What the file of an exported pool holds.
struct PoolHandle {
  char mark[16];
  pid_t exporter;
  CUmemoryPool pool;
};
constexpr char kPoolMark[16] = "vramscope-pool";

// What our 64 opaque bytes hold.
struct PointerHandle {
  char mark[16];
  pid_t exporter;
  std::uint64_t buffer_id;
};
static_assert(sizeof(PointerHandle) <= sizeof(CUmemPoolPtrExportData));

}  // namespace

namespace body {

CUresult cuMemPoolExportToShareableHandle(void* handle, CUmemoryPool pool_handle,
                                          CUmemAllocationHandleType type,
                                          unsigned long long flags) {
  const auto pool = driver().pools.find(pool_handle);
  if (!pool || handle == nullptr || flags != 0 || type == CU_MEM_HANDLE_TYPE_NONE ||
      (pool->handle_types & type) == 0 || pool->imported) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  PoolHandle content = {.mark = {}, .exporter = getpid(), .pool = pool_handle};
  std::memcpy(content.mark, kPoolMark, sizeof kPoolMark);
  const int file = memfd_create("vramscope-pool", MFD_CLOEXEC);
  if (file < 0) return CUDA_ERROR_OUT_OF_MEMORY;
  if (pwrite(file, &content, sizeof content, 0) != sizeof content) {
    close(file);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  *static_cast<int*>(handle) = file;
  return CUDA_SUCCESS;
}

// For file descriptors the handle is the descriptor itself, not its address.
CUresult cuMemPoolImportFromShareableHandle(CUmemoryPool* pool, void* handle,
                                            CUmemAllocationHandleType type,
                                            unsigned long long flags) {
  if (pool == nullptr || flags != 0 || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  PoolHandle content = {};
  const int file = static_cast<int>(reinterpret_cast<std::intptr_t>(handle));
  if (pread(file, &content, sizeof content, 0) != sizeof content ||
      std::memcmp(content.mark, kPoolMark, sizeof kPoolMark) != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (content.exporter != getpid()) return CUDA_ERROR_NOT_SUPPORTED;
  const auto exported = driver().pools.find(content.pool);
  if (!exported) return CUDA_ERROR_INVALID_VALUE;
  auto made = std::make_shared<CUmemPoolHandle_st>(exported->device, false);
  made->handle_types = exported->handle_types;
  made->imported = true;
  *pool = driver().pools.add(std::move(made));
  return CUDA_SUCCESS;
}

CUresult cuMemPoolExportPointer(CUmemPoolPtrExportData* data, CUdeviceptr pointer) {
  const auto found = driver().memory.find(pointer);
  if (data == nullptr || !found || found->start != pointer) return CUDA_ERROR_INVALID_VALUE;
  const auto pool = driver().pools.find(found->pool);
  if (!pool || pool->handle_types == CU_MEM_HANDLE_TYPE_NONE) return CUDA_ERROR_INVALID_VALUE;
  PointerHandle content = {.mark = {}, .exporter = getpid(), .buffer_id = found->buffer_id};
  std::memcpy(content.mark, kPoolMark, sizeof kPoolMark);
  *data = {};
  std::memcpy(data, &content, sizeof content);
  return CUDA_SUCCESS;
}

CUresult cuMemPoolImportPointer(CUdeviceptr* pointer, CUmemoryPool handle,
                                CUmemPoolPtrExportData* data) {
  const auto pool = driver().pools.find(handle);
  if (pointer == nullptr || data == nullptr || !pool || !pool->imported) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  PointerHandle content;
  std::memcpy(&content, data, sizeof content);
  return std::memcmp(content.mark, kPoolMark, sizeof kPoolMark) == 0 ? CUDA_ERROR_NOT_SUPPORTED
                                                                     : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace body

}  // namespace vramscope::simulator
