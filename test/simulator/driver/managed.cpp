// Managed memory: advice, prefetches and stream associations are checked and kept, nothing moves.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <vector>

#include "test/simulator/device/managed_ranges.h"
#include "test/simulator/driver/driver.h"

namespace vramscope::simulator {

namespace {

bool is_managed(CUdeviceptr pointer, std::size_t bytes) {
  const auto found = driver().memory.find(pointer, bytes);
  return bytes != 0 && found && found->kind == Kind::managed;
}

// What the first generation of these calls names by a number.
CUmemLocation location_of(CUdevice device) {
  if (device == CU_DEVICE_CPU) return {CU_MEM_LOCATION_TYPE_HOST, 0};
  return {CU_MEM_LOCATION_TYPE_DEVICE, device};
}

CUdevice number_of(const CUmemLocation& location) {
  if (location.type == CU_MEM_LOCATION_TYPE_DEVICE) return location.id;
  return location.type == CU_MEM_LOCATION_TYPE_INVALID ? CU_DEVICE_INVALID : CU_DEVICE_CPU;
}

enum class Nodes : std::uint8_t { allowed, refused };

CUresult check(const CUmemLocation& location, Nodes nodes) {
  switch (location.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
      return driver().device(location.id) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
    case CU_MEM_LOCATION_TYPE_HOST:
      return CUDA_SUCCESS;
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
      return nodes == Nodes::allowed && location.id == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
      return nodes == Nodes::allowed ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

// This machine has one node; unused numbers are not kept.
CUmemLocation settled(const CUmemLocation& location) {
  if (location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT) {
    return {CU_MEM_LOCATION_TYPE_HOST_NUMA, 0};
  }
  return location.type == CU_MEM_LOCATION_TYPE_HOST ? CUmemLocation{location.type, 0} : location;
}

CUresult check(CUmem_advise advice, const CUmemLocation& location) {
  switch (advice) {
    case CU_MEM_ADVISE_SET_READ_MOSTLY:
    case CU_MEM_ADVISE_UNSET_READ_MOSTLY:
    case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION:
      return CUDA_SUCCESS;  // the location is ignored
    case CU_MEM_ADVISE_SET_PREFERRED_LOCATION:
      return check(location, Nodes::allowed);
    case CU_MEM_ADVISE_SET_ACCESSED_BY:
    case CU_MEM_ADVISE_UNSET_ACCESSED_BY:
      return check(location, Nodes::refused);
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

void follow(CUmem_advise advice, const CUmemLocation& location, Advice& kept) {
  switch (advice) {
    case CU_MEM_ADVISE_SET_READ_MOSTLY:
    case CU_MEM_ADVISE_UNSET_READ_MOSTLY:
      kept.read_mostly = advice == CU_MEM_ADVISE_SET_READ_MOSTLY;
      return;
    case CU_MEM_ADVISE_SET_PREFERRED_LOCATION:
      kept.preferred = settled(location);
      return;
    case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION:
      kept.preferred = kNowhere;
      return;
    case CU_MEM_ADVISE_SET_ACCESSED_BY:
      kept.accessed_by.insert(number_of(location));
      return;
    case CU_MEM_ADVISE_UNSET_ACCESSED_BY:
      kept.accessed_by.erase(number_of(location));
      return;
  }
}

CUresult advise(CUdeviceptr pointer, std::size_t bytes, CUmem_advise advice,
                const CUmemLocation& location) {
  if (!is_managed(pointer, bytes)) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult wrong = check(advice, location); wrong != CUDA_SUCCESS) return wrong;
  managed_ranges().change(pointer, bytes, [&](Advice& kept) { follow(advice, location, kept); });
  return CUDA_SUCCESS;
}

CUresult prefetch(CUdeviceptr pointer, std::size_t bytes, const CUmemLocation& location,
                  CUstream handle) {
  if (!is_managed(pointer, bytes)) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult wrong = check(location, Nodes::allowed); wrong != CUDA_SUCCESS) return wrong;
  const auto stream = resolve(handle);
  if (!stream) return CUDA_ERROR_INVALID_HANDLE;
  const CUresult result = submit(*stream, {});
  if (result != CUDA_SUCCESS) return result;
  managed_ranges().change(pointer, bytes,
                          [&](Advice& kept) { kept.prefetched = settled(location); });
  return CUDA_SUCCESS;
}

// The location that all pages agree on, or nowhere.
CUmemLocation common(CUdeviceptr pointer, std::size_t bytes, CUmemLocation Advice::*which) {
  std::optional<CUmemLocation> all;
  managed_ranges().look(pointer, bytes, [&](const Advice& advice) {
    const CUmemLocation& here = advice.*which;
    if (!all) all = here;
    if (all->type != here.type || all->id != here.id) all = kNowhere;
  });
  return all.value_or(kNowhere);
}

bool is_read_mostly(CUdeviceptr pointer, std::size_t bytes) {
  bool all = true;
  managed_ranges().look(pointer, bytes, [&](const Advice& a) { all = all && a.read_mostly; });
  return all;
}

void list_accessors(CUdeviceptr pointer, std::size_t bytes, CUdevice* devices, std::size_t count) {
  std::optional<std::set<CUdevice>> all;
  managed_ranges().look(pointer, bytes, [&](const Advice& advice) {
    if (!all) all = advice.accessed_by;
    std::erase_if(*all, [&](CUdevice device) { return !advice.accessed_by.contains(device); });
  });
  std::fill_n(devices, count, CU_DEVICE_INVALID);
  // Devices come first, by their ordinals, then the host (cuda-python test_cuda_mem_range_attr).
  std::vector<CUdevice> ordered(all->begin(), all->end());
  std::stable_partition(ordered.begin(), ordered.end(), [](CUdevice one) { return one >= 0; });
  std::copy_n(ordered.begin(), std::min(count, ordered.size()), devices);
}

CUresult answer(void* data, std::size_t size, CUmem_range_attribute name, CUdeviceptr pointer,
                std::size_t bytes) {
  auto* number = static_cast<std::int32_t*>(data);
  if (name == CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY) {
    if (size == 0 || size % sizeof *number != 0) return CUDA_ERROR_INVALID_VALUE;
    list_accessors(pointer, bytes, number, size / sizeof *number);
    return CUDA_SUCCESS;
  }
  if (size != sizeof *number) return CUDA_ERROR_INVALID_VALUE;
  const CUmemLocation preferred = common(pointer, bytes, &Advice::preferred);
  const CUmemLocation prefetched = common(pointer, bytes, &Advice::prefetched);
  switch (name) {
    case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY:
      *number = is_read_mostly(pointer, bytes) ? 1 : 0;
      return CUDA_SUCCESS;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION:
      *number = number_of(preferred);
      return CUDA_SUCCESS;
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION:
      *number = number_of(prefetched);
      return CUDA_SUCCESS;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE:
      *number = preferred.type;
      return CUDA_SUCCESS;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID:
      *number = preferred.id;
      return CUDA_SUCCESS;
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE:
      *number = prefetched.type;
      return CUDA_SUCCESS;
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID:
      *number = prefetched.id;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

}  // namespace

namespace body {

CUresult cuMemAdvise(CUdeviceptr pointer, std::size_t bytes, CUmem_advise advice, CUdevice device) {
  return advise(pointer, bytes, advice, location_of(device));
}

CUresult cuMemAdvise_v2(CUdeviceptr pointer, std::size_t bytes, CUmem_advise advice,
                        CUmemLocation location) {
  return advise(pointer, bytes, advice, location);
}

CUresult cuMemPrefetchAsync(CUdeviceptr pointer, std::size_t bytes, CUdevice device,
                            CUstream stream) {
  return prefetch(pointer, bytes, location_of(device), stream);
}

CUresult cuMemPrefetchAsync_v2(CUdeviceptr pointer, std::size_t bytes, CUmemLocation location,
                               unsigned flags, CUstream stream) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  return prefetch(pointer, bytes, location, stream);
}

CUresult cuMemRangeGetAttribute(void* data, std::size_t size, CUmem_range_attribute name,
                                CUdeviceptr pointer, std::size_t bytes) {
  if (data == nullptr || !is_managed(pointer, bytes)) return CUDA_ERROR_INVALID_VALUE;
  return answer(data, size, name, pointer, bytes);
}

CUresult cuMemRangeGetAttributes(void** data, std::size_t* sizes, CUmem_range_attribute* names,
                                 std::size_t count, CUdeviceptr pointer, std::size_t bytes) {
  if (data == nullptr || sizes == nullptr || names == nullptr || count == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  for (std::size_t i = 0; i < count; ++i) {
    const CUresult result =
        body::cuMemRangeGetAttribute(data[i], sizes[i], names[i], pointer, bytes);
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

// The whole allocation, to one kind of owner; the default stream is nobody's own (cuda.h).
CUresult cuStreamAttachMemAsync(CUstream handle, CUdeviceptr pointer, std::size_t bytes,
                                unsigned flags) {
  const auto found = driver().memory.find(pointer);
  if (!found || found->kind != Kind::managed || found->start != pointer) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (bytes != 0 && bytes != found->bytes) return CUDA_ERROR_INVALID_VALUE;
  if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST &&
      flags != CU_MEM_ATTACH_SINGLE) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const auto stream = resolve(handle);
  if (!stream) return CUDA_ERROR_INVALID_HANDLE;
  if (flags == CU_MEM_ATTACH_SINGLE && stream->is_legacy) return CUDA_ERROR_INVALID_VALUE;
  return submit(*stream, {});
}

}  // namespace body

}  // namespace vramscope::simulator
