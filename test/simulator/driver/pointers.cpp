// Questions about pointers.
// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "test/simulator/device/virtual_memory.h"
#include "test/simulator/driver/driver.h"

namespace vramscope::simulator {

namespace {

// Writes an attribute of the type that cuda.h names for it, but for booleans: they are an int
// (NVIDIA/DALI#3873, nlesc-recruit/cudawrappers#250).
template <class Value>
CUresult write(void* to, Value value) {
  std::memcpy(to, &value, sizeof value);
  return CUDA_SUCCESS;
}

CUmemorytype type_of(const Allocation& allocation) {
  return allocation.on_host() ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
}

bool host_reaches(const Allocation& allocation) {
  return allocation.on_host() || allocation.kind == Kind::managed;
}

unsigned access_of(const Allocation& a) {
  const bool read_only =
      a.kind == Kind::registered && (a.flags & CU_MEMHOSTREGISTER_READ_ONLY) != 0;
  return read_only ? CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READ
                   : CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE;
}

// The driver's block in which the allocation lies, in whole granules, with what lies there too
// (cuda.h: the actual underlying mapping; xnvme's dmamem_cuda.h relies on it).
Extent mapping_of(const Allocation& a) {
  if (!a.is_plain()) return {a.start, a.bytes};
  const Address start = a.start / kGranule * kGranule;
  return {start, round_up(a.start + a.bytes, kGranule) - start};
}

// Asking sets SYNC_MEMOPS (cuda.h), where setting it is refused too (OPEN.md).
CUresult write_tokens(const Allocation& a, void* value) {
  if (!a.is_plain() && a.origin != Origin::mapped) return CUDA_ERROR_INVALID_VALUE;
  driver().memory.set_sync_memops(a.start, true);
  return write(value,
               CUDA_POINTER_ATTRIBUTE_P2P_TOKENS{.p2pToken = a.buffer_id, .vaSpaceToken = 1});
}

// Reserved addresses: questions about the reservation, and about the memory that is mapped there.
CUresult answer_reserved(const Reserved& reserved, CUpointer_attribute name, CUdeviceptr pointer,
                         void* value) {
  switch (name) {
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      return write(value, reserved.start);
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      return write(value, std::size_t{reserved.bytes});
    case CU_POINTER_ATTRIBUTE_MAPPED:
      return write(value, int{reserved.memory != nullptr});
    default:
      break;
  }
  if (!reserved.memory) return CUDA_ERROR_INVALID_VALUE;
  const CUmemAllocationProp& properties = reserved.memory->properties();
  switch (name) {
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      if (reserved.access == 0) return CUDA_ERROR_INVALID_VALUE;
      return write(value, pointer);
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
      return write(value, cuuint64_t{properties.requestedHandleTypes});
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
      return write(value, int{properties.allocFlags.gpuDirectRDMACapable != 0});
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      return write(value, reserved.access);
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
      return write(value, cuuint64_t{reserved.memory->id()});
    default:
      return CUDA_ERROR_NOT_FOUND;  // as for other memory
  }
}

CUresult answer(const Allocation& a, CUpointer_attribute name, CUdeviceptr pointer, void* value) {
  switch (name) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      return write(value, a.context);
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return write(value, unsigned{type_of(a)});
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      return write(value, pointer);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      if (!host_reaches(a)) return CUDA_ERROR_INVALID_VALUE;
      return write(value, pointer);
    case CU_POINTER_ATTRIBUTE_P2P_TOKENS:
      return write_tokens(a, value);
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
      return write(value, int{a.sync_memops || a.kind == Kind::managed});  // lupine#646
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
      return write(value, a.buffer_id);
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      return write(value, int{a.kind == Kind::managed});
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return write(value, a.device);
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      return write(value, int{a.is_plain()});
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      return write(value, a.start);
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      return write(value, std::size_t{a.bytes});
    case CU_POINTER_ATTRIBUTE_MAPPED:
      return write(value, 1);
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
      return write(value, cuuint64_t{0});
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
      return write(value, int{a.is_plain()});
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      return write(value, access_of(a));
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      return write(value, a.pool);
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
      return write(value, std::size_t{mapping_of(a).bytes});
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
      return write(value, mapping_of(a).start);
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
      return write(value, a.buffer_id);
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
      return write(value, int{a.is_plain()});
    default:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
}

// Any address that the driver knows.
CUresult answer_any(CUpointer_attribute name, CUdeviceptr pointer, void* value) {
  CUcontext context = current_context();
  const int device = context != nullptr ? context->device : CU_DEVICE_INVALID;
  if (const auto reserved = virtual_memory().describe(pointer, device)) {
    const CUresult result = answer_reserved(*reserved, name, pointer, value);
    if (result != CUDA_ERROR_NOT_FOUND) return result;
  }
  const auto found = driver().memory.find(pointer);
  return found ? answer(*found, name, pointer, value) : CUDA_ERROR_INVALID_VALUE;
}

// What cuPointerGetAttributes gives for a pointer that no driver knows: cuda.h, and ZLUDA's
// pointer.rs:113 on NVIDIA's driver.
void answer_unknown(CUpointer_attribute name, CUdeviceptr pointer, void* value) {
  switch (name) {
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      (void)write(value, pointer);
      return;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      return;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      (void)write(value, int{CU_DEVICE_INVALID});
      return;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_MAPPED:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
      (void)write(value, 0);
      return;
    case CU_POINTER_ATTRIBUTE_P2P_TOKENS:
      return;
    default:
      (void)write(value, cuuint64_t{0});
      return;
  }
}

}  // namespace

namespace body {

CUresult cuPointerGetAttribute(void* value, CUpointer_attribute name, CUdeviceptr pointer) {
  if (value == nullptr || name <= 0 || name > CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return answer_any(name, pointer, value);
}

CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute* names, void** values,
                                CUdeviceptr pointer) {
  if (count == 0 || names == nullptr || values == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (unsigned i = 0; i < count; ++i) {
    if (values[i] == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (answer_any(names[i], pointer, values[i]) == CUDA_SUCCESS) continue;
    answer_unknown(names[i], pointer, values[i]);
  }
  return CUDA_SUCCESS;
}

CUresult cuPointerSetAttribute(const void* value, CUpointer_attribute name, CUdeviceptr pointer) {
  if (value == nullptr || name != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS) return CUDA_ERROR_INVALID_VALUE;
  const auto found = driver().memory.find(pointer);
  if (!found || found->on_host()) return CUDA_ERROR_INVALID_VALUE;
  if (found->origin == Origin::mapped) return CUDA_ERROR_NOT_SUPPORTED;  // lupine#646
  driver().memory.set_sync_memops(found->start, *static_cast<const int*>(value) != 0);
  return CUDA_SUCCESS;
}

}  // namespace body

}  // namespace vramscope::simulator
