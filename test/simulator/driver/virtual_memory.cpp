// Virtual memory management: what the entry points demand of their arguments.
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdint>

#include "test/simulator/device/virtual_memory.h"
#include "test/simulator/driver/driver.h"

namespace vramscope::simulator {

namespace {

bool is_granular(std::uint64_t bytes) { return bytes % kGranule == 0; }

CUresult check(const CUmemAllocationProp* properties) {
  if (properties == nullptr || properties->win32HandleMetaData != nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (properties->type == CU_MEM_ALLOCATION_TYPE_MANAGED) return CUDA_ERROR_NOT_SUPPORTED;
  if (properties->type != CU_MEM_ALLOCATION_TYPE_PINNED) return CUDA_ERROR_INVALID_VALUE;
  switch (properties->location.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
      break;
    case CU_MEM_LOCATION_TYPE_HOST:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
      return CUDA_ERROR_NOT_SUPPORTED;  // host memory is not simulated
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
  if (driver().device(properties->location.id) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  const unsigned others =
      properties->requestedHandleTypes & ~unsigned{CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR};
  return others == 0 ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

CUresult check(const CUmemAccessDesc& access) {
  if (access.location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_INVALID_VALUE;
  if (driver().device(access.location.id) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  switch (access.flags) {
    case CU_MEM_ACCESS_FLAGS_PROT_NONE:
    case CU_MEM_ACCESS_FLAGS_PROT_READ:
    case CU_MEM_ACCESS_FLAGS_PROT_READWRITE:
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

// Mapped from end to end in one device, or inside one cuMemAlloc allocation.
bool is_exportable(CUdeviceptr pointer, std::size_t bytes) {
  const auto found = driver().memory.find(pointer);
  if (!found) return false;
  if (found->origin != Origin::mapped) {
    return found->is_plain() && driver().memory.find(pointer, bytes).has_value();
  }
  for (CUdeviceptr at = pointer; at < pointer + bytes;) {
    const auto piece = driver().memory.find(at);
    if (!piece || piece->origin != Origin::mapped || piece->device != found->device) return false;
    at = piece->end();
  }
  return true;
}

}  // namespace

namespace body {

CUresult cuMemGetAllocationGranularity(std::size_t* granularity,
                                       const CUmemAllocationProp* properties,
                                       CUmemAllocationGranularity_flags option) {
  if (granularity == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (option != CU_MEM_ALLOC_GRANULARITY_MINIMUM &&
      option != CU_MEM_ALLOC_GRANULARITY_RECOMMENDED) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (const CUresult wrong = check(properties); wrong != CUDA_SUCCESS) return wrong;
  *granularity = kGranule;
  return CUDA_SUCCESS;
}

CUresult cuMemAddressReserve(CUdeviceptr* pointer, std::size_t bytes, std::size_t alignment,
                             CUdeviceptr hint, unsigned long long flags) {
  if (pointer == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (bytes == 0 || bytes % kHostPage != 0 || hint % kHostPage != 0)
    return CUDA_ERROR_INVALID_VALUE;
  if (alignment != 0 && !std::has_single_bit(alignment)) return CUDA_ERROR_INVALID_VALUE;
  if (bytes > (std::uint64_t{1} << 47)) return CUDA_ERROR_OUT_OF_MEMORY;
  Address start = 0;
  const CUresult result =
      virtual_memory().reserve(bytes, std::max<std::uint64_t>(alignment, kGranule), hint, &start);
  if (result == CUDA_SUCCESS) *pointer = start;
  return result;
}

CUresult cuMemAddressFree(CUdeviceptr pointer, std::size_t bytes) {
  return virtual_memory().free(pointer, bytes);
}

CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, std::size_t bytes,
                     const CUmemAllocationProp* properties, unsigned long long flags) {
  if (handle == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult wrong = check(properties); wrong != CUDA_SUCCESS) return wrong;
  if (bytes == 0 || !is_granular(bytes)) return CUDA_ERROR_INVALID_VALUE;
  CUmemAllocationProp given = *properties;
  given.allocFlags.compressionType = CU_MEM_ALLOCATION_COMP_NONE;  // a wish that we do not grant
  auto made = PhysicalMemory::create(given, bytes);
  if (made.result != CUDA_SUCCESS) return made.result;
  *handle = virtual_memory().add(std::move(made.memory));
  return CUDA_SUCCESS;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  return virtual_memory().release(handle);
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* address) {
  if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return virtual_memory().retain(reinterpret_cast<Address>(address), handle);
}

// The offset must be zero "currently", says cuda.h.
CUresult cuMemMap(CUdeviceptr pointer, std::size_t bytes, std::size_t offset,
                  CUmemGenericAllocationHandle handle, unsigned long long flags) {
  if (bytes == 0 || offset != 0 || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (!is_granular(pointer) || !is_granular(bytes)) return CUDA_ERROR_INVALID_VALUE;
  return virtual_memory().map(pointer, bytes, handle);
}

CUresult cuMemUnmap(CUdeviceptr pointer, std::size_t bytes) {
  if (!virtual_memory().is_whole(pointer, bytes)) return CUDA_ERROR_INVALID_VALUE;
  driver().wait_for_all_work();
  return virtual_memory().unmap(pointer, bytes);
}

CUresult cuMemSetAccess(CUdeviceptr pointer, std::size_t bytes, const CUmemAccessDesc* access,
                        std::size_t count) {
  if (access == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
  if (!virtual_memory().is_whole(pointer, bytes)) return CUDA_ERROR_INVALID_VALUE;
  for (std::size_t i = 0; i < count; ++i) {
    if (const CUresult wrong = check(access[i]); wrong != CUDA_SUCCESS) return wrong;
  }
  driver().wait_for_all_work();
  for (std::size_t i = 0; i < count; ++i) {
    const CUresult result =
        virtual_memory().set_access(pointer, bytes, access[i].location.id, access[i].flags);
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

CUresult cuMemGetAccess(unsigned long long* flags, const CUmemLocation* location,
                        CUdeviceptr pointer) {
  if (flags == nullptr || location == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (location->type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_INVALID_VALUE;
  if (driver().device(location->id) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  const auto reserved = virtual_memory().describe(pointer, location->id);
  if (!reserved || !reserved->memory) return CUDA_ERROR_INVALID_VALUE;
  *flags = reserved->access;
  return CUDA_SUCCESS;
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* properties,
                                                CUmemGenericAllocationHandle handle) {
  const auto memory = virtual_memory().find(handle);
  if (properties == nullptr || !memory) return CUDA_ERROR_INVALID_VALUE;
  *properties = memory->properties();
  return CUDA_SUCCESS;
}

CUresult cuMemExportToShareableHandle(void* shareable, CUmemGenericAllocationHandle handle,
                                      CUmemAllocationHandleType type, unsigned long long flags) {
  const auto memory = virtual_memory().find(handle);
  if (shareable == nullptr || !memory || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ||
      (memory->properties().requestedHandleTypes & type) == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const int file = memory->export_file();
  if (file < 0) return CUDA_ERROR_OPERATING_SYSTEM;
  *static_cast<int*>(shareable) = file;
  return CUDA_SUCCESS;
}

// The descriptor stays the program's.
CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* handle, void* shareable,
                                        CUmemAllocationHandleType type) {
  if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
  auto made = PhysicalMemory::import(static_cast<int>(reinterpret_cast<std::intptr_t>(shareable)));
  if (made.result != CUDA_SUCCESS) return made.result;
  *handle = virtual_memory().add(std::move(made.memory));
  return CUDA_SUCCESS;
}

// The descriptor has the range's length; what lies behind it is not simulated.
CUresult cuMemGetHandleForAddressRange(void* handle, CUdeviceptr pointer, std::size_t bytes,
                                       CUmemRangeHandleType type, unsigned long long flags) {
  if (handle == nullptr || type != CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (bytes == 0 || pointer % kHostPage != 0 || bytes % kHostPage != 0)
    return CUDA_ERROR_INVALID_VALUE;
  if (configuration().model.direct_access == 0) return CUDA_ERROR_NOT_SUPPORTED;
  if (flags == CU_MEM_RANGE_FLAG_DMA_BUF_MAPPING_TYPE_PCIE) return CUDA_ERROR_NOT_SUPPORTED;
  if (flags != 0 || !is_exportable(pointer, bytes)) return CUDA_ERROR_INVALID_VALUE;
  const int file = memfd_create("vramscope-simulated-dma-buf", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, static_cast<off_t>(bytes)) != 0) {
    return CUDA_ERROR_OPERATING_SYSTEM;
  }
  *static_cast<int*>(handle) = file;
  return CUDA_SUCCESS;
}

}  // namespace body

}  // namespace vramscope::simulator
