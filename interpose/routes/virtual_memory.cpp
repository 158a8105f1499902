// Records memory by handle and its mappings.
// SPDX-License-Identifier: Apache-2.0
#include "interpose/base/event_of.h"
#include "interpose/loader/real.h"
#include "interpose/routes/driver_answers.h"
#include "interpose/routes/other_context.h"
#include "interpose/routes/routes.h"

namespace vramscope::routes {
namespace {

using Handle = CUmemGenericAllocationHandle;

// Returns a function that ends memory in the allocator and sums its bytes.
auto forgetter(Call& call, std::uint64_t* ended_bytes = nullptr) {
  return [&profiler = call.profiler(), ended_bytes](Kind kind, Address address) {
    const Outcome outcome = profiler.allocator().forget(kind, address);
    if (!outcome.status.ok()) return;
    if (ended_bytes != nullptr && kind == Kind::physical) *ended_bytes += outcome.requested;
    profiler.recorder().record_besides(event_of(MemoryChange::went, outcome));
  };
}

// Calls `end` with a forgetter after the driver has ended the memory, which may include exported
// memory.
template <class End>
CUresult end_exported(Call& call, const DirectCall& direct, std::uint16_t device, End end) {
  const ReleaseOfExported release(call.profiler(), device);
  const CUresult code = direct();
  if (code != CUDA_SUCCESS) return code;
  std::uint64_t bytes = 0;
  end(forgetter(call, &bytes));
  release.happened(bytes);
  return code;
}

// The program names the device, since the call needs no context.
Place place_of(const CUmemAllocationProp* prop) {
  if (prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE) return {.kind = Kind::host};
  return {.kind = Kind::physical, .device = static_cast<std::uint16_t>(prop->location.id)};
}

void created(Call& call, Handle handle, Place where, std::size_t bytes) {
  const VirtualMemory::Number number =
      call.profiler().virtual_memory().created(handle, where, forgetter(call));
  if (number == VirtualMemory::none) {
    call.count_unrecorded();
  } else {
    call.adopt(where, number, bytes);
  }
}

VirtualMemory::Tiles tiles_of(const CUarrayMapInfo& map) {
  VirtualMemory::Tiles tiles{.array = to_address(map.resource.array),
                             .type = static_cast<unsigned>(map.subresourceType)};
  if (map.subresourceType == CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_MIPTAIL) {
    const auto& tail = map.subresource.miptail;
    tiles.layer = tail.layer;
    tiles.from = {tail.offset, 0, 0};
    tiles.to = {tail.offset + tail.size, 1, 1};
    return tiles;
  }
  const auto& level = map.subresource.sparseLevel;
  tiles.level = level.level;
  tiles.layer = level.layer;
  tiles.from = {level.offsetX, level.offsetY, level.offsetZ};
  tiles.to = {tiles.from[0] + level.extentWidth, tiles.from[1] + level.extentHeight,
              tiles.from[2] + level.extentDepth};
  return tiles;
}

// Records in the order of the program's calls, not of the stream.
CUresult map_arrays(Call& call, const DirectCall& direct, const CUarrayMapInfo* maps,
                    unsigned int count) {
  const CUresult code = direct();
  if (code != CUDA_SUCCESS) return code;
  VirtualMemory& memory = call.profiler().virtual_memory();
  for (unsigned int i = 0; i < count; ++i) {
    if (maps[i].memOperationType == CU_MEM_OPERATION_TYPE_MAP) {
      memory.tiles_mapped(tiles_of(maps[i]), maps[i].memHandle.memHandle, forgetter(call));
    } else {
      memory.tiles_unmapped(tiles_of(maps[i]), forgetter(call));
    }
  }
  return code;
}

// Ends the array with its tiles.
CUresult destroy_array(Call& call, const DirectCall& direct, std::uintptr_t array) {
  const CUresult code = direct();
  if (code == CUDA_SUCCESS) call.profiler().virtual_memory().array_ended(array, forgetter(call));
  return code;
}

}  // namespace

CUresult cuMemMapArrayAsync(Call& call, const DirectCall& direct, CUarrayMapInfo* mapInfoList,
                            unsigned int count, CUstream) noexcept {
  return map_arrays(call, direct, mapInfoList, count);
}
CUresult cuMemMapArrayAsync_ptsz(Call& call, const DirectCall& direct, CUarrayMapInfo* mapInfoList,
                                 unsigned int count, CUstream) noexcept {
  return map_arrays(call, direct, mapInfoList, count);
}
CUresult cuArrayDestroy(Call& call, const DirectCall& direct, CUarray hArray) noexcept {
  return destroy_array(call, direct, to_address(hArray));
}
CUresult cuMipmappedArrayDestroy(Call& call, const DirectCall& direct,
                                 CUmipmappedArray hMipmappedArray) noexcept {
  return destroy_array(call, direct, to_address(hMipmappedArray));
}

CUresult cuMemCreate(Call& call, const DirectCall& direct, Handle* handle, std::size_t size,
                     const CUmemAllocationProp* prop, unsigned long long) noexcept {
  const bool on_device = prop != nullptr && prop->location.type == CU_MEM_LOCATION_TYPE_DEVICE;
  const CUresult code =
      on_device ? bounded_elsewhere(call, direct, size, place_of(prop).device) : direct();
  if (code == CUDA_SUCCESS) created(call, *handle, place_of(prop), size);
  return code;
}

CUresult cuMemRelease(Call& call, const DirectCall& direct, Handle handle) noexcept {
  VirtualMemory& memory = call.profiler().virtual_memory();
  const VirtualMemory::Number before = memory.now();
  const auto end = [&](auto forget) { memory.released(handle, before, forget); };
  const VirtualMemory::Exported exported = memory.exported_of(handle);
  if (exported.any) return end_exported(call, direct, exported.device, end);
  const CUresult code = direct();
  if (code == CUDA_SUCCESS) end(forgetter(call));
  return code;
}

// Memory from cuMemAlloc has no handle, even if our segment is mapped.
CUresult cuMemRetainAllocationHandle(Call& call, const DirectCall& direct, Handle* handle,
                                     void* address) noexcept {
  if (call.profiler().allocator().find(to_address(address)).owned) return CUDA_ERROR_INVALID_VALUE;
  const CUresult code = direct();
  if (code == CUDA_SUCCESS) call.profiler().virtual_memory().retained(*handle);
  return code;
}

CUresult cuMemExportToShareableHandle(Call& call, const DirectCall& direct, void*, Handle handle,
                                      CUmemAllocationHandleType, unsigned long long) noexcept {
  const CUresult code = direct();
  if (code == CUDA_SUCCESS) call.profiler().virtual_memory().exported(handle);
  return code;
}

// The size of an imported handle is unknown, so its bytes are recorded when it is mapped.
CUresult cuMemImportFromShareableHandle(Call& call, const DirectCall& direct, Handle* handle, void*,
                                        CUmemAllocationHandleType) noexcept {
  const CUresult code = direct();
  if (code == CUDA_SUCCESS) created(call, *handle, call.place_of(Kind::imported), 0);
  return code;
}

CUresult cuMemMap(Call& call, const DirectCall& direct, CUdeviceptr ptr, std::size_t size,
                  std::size_t, Handle handle, unsigned long long) noexcept {
  const CUresult code = direct();
  if (code != CUDA_SUCCESS) return code;
  const VirtualMemory::Mapped mapped =
      call.profiler().virtual_memory().mapped(ptr, size, handle, forgetter(call));
  call.adopt(mapped.known ? mapped.where : call.place_of(Kind::mapping), ptr, size);
  return code;
}

// Our mapped segments are not mappings of the program.
CUresult cuMemUnmap(Call& call, const DirectCall& direct, CUdeviceptr ptr,
                    std::size_t size) noexcept {
  if (call.profiler().allocator().find(ptr).owned) {
    return real().cuMemUnmap(unknown_address(), size);
  }
  VirtualMemory& memory = call.profiler().virtual_memory();
  const VirtualMemory::Number before = memory.now();
  const auto end = [&](auto forget) { memory.unmapped(ptr, size, before, forget); };
  const VirtualMemory::Exported exported = memory.exported_in(ptr, size);
  if (exported.any) return end_exported(call, direct, exported.device, end);
  const CUresult code = direct();
  if (code == CUDA_SUCCESS) end(forgetter(call));
  return code;
}

#if CUDA_VERSION >= 12010
CUresult cuMulticastCreate(Call& call, const DirectCall& direct, Handle* mcHandle,
                           const CUmulticastObjectProp* prop) noexcept {
  const CUresult code = direct();
  if (code == CUDA_SUCCESS) created(call, *mcHandle, call.place_of(Kind::multicast), prop->size);
  return code;
}

CUresult cuMulticastBindMem(Call& call, const DirectCall& direct, Handle mcHandle,
                            std::size_t mcOffset, Handle memHandle, std::size_t, std::size_t,
                            unsigned long long) noexcept {
  const CUresult code = direct();
  if (code == CUDA_SUCCESS) {
    call.profiler().virtual_memory().bound(mcHandle, mcOffset, memHandle);
  }
  return code;
}

CUresult cuMulticastUnbind(Call& call, const DirectCall& direct, Handle mcHandle, CUdevice dev,
                           std::size_t mcOffset, std::size_t) noexcept {
  const CUresult code = direct();
  if (code == CUDA_SUCCESS) {
    call.profiler().virtual_memory().unbound(mcHandle, static_cast<std::uint16_t>(dev), mcOffset,
                                             forgetter(call));
  }
  return code;
}
#endif

}  // namespace vramscope::routes
