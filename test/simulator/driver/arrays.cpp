// Arrays as programs see them: creation, levels, planes, descriptors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>

#include "test/simulator/driver/driver.h"

namespace vramscope::simulator {

namespace {

constexpr unsigned kWithoutMemory = CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING;
constexpr std::uint64_t kTile = 65536;  // of sparse arrays, and what deferred mappings align to

CUDA_ARRAY3D_DESCRIPTOR deep(const CUDA_ARRAY_DESCRIPTOR& d) {
  return {d.Width, d.Height, 0, d.Format, d.NumChannels, 0};
}

std::shared_ptr<CUarray_st> part(const CUDA_ARRAY3D_DESCRIPTOR& descriptor,
                                 const ArrayLayout& layout, const CUarray_st& whole,
                                 std::uint64_t offset) {
  auto made = std::make_shared<CUarray_st>();
  made->descriptor = descriptor;
  made->layout = layout;
  made->context = whole.context;
  made->memory = whole.memory;
  made->start = whole.start == 0 ? 0 : whole.start + offset;
  made->is_part = true;
  arrays().add(made);
  return made;
}

// Luma, and chroma of half the width and height with two channels.
void add_planes(CUarray_st& array) {
  if (array.layout.planes == 0) return;
  CUDA_ARRAY3D_DESCRIPTOR luma = array.descriptor;
  luma.Format =
      luma.Format == CU_AD_FORMAT_NV12 ? CU_AD_FORMAT_UNSIGNED_INT8 : CU_AD_FORMAT_UNSIGNED_INT16;
  luma.NumChannels = 1;
  CUDA_ARRAY3D_DESCRIPTOR chroma = luma;
  chroma.Width = (luma.Width + 1) / 2;
  chroma.Height = (luma.Height + 1) / 2;
  chroma.NumChannels = 2;
  ArrayLayout layout;
  for (const auto& plane : {luma, chroma}) {
    if (!lay_out(plane, layout)) return;
    const std::uint64_t offset = array.planes.empty() ? 0 : array.layout.slice;
    array.planes.push_back(part(plane, layout, array, offset));
  }
}

CUresult create(CUarray* handle, const CUDA_ARRAY3D_DESCRIPTOR& descriptor) {
  if (const CUresult refusal = refuse_in_capture(); refusal != CUDA_SUCCESS) return refusal;
  auto made = std::make_shared<CUarray_st>();
  if (handle == nullptr || !lay_out(descriptor, made->layout)) return CUDA_ERROR_INVALID_VALUE;
  made->descriptor = descriptor;
  made->context = current_context();
  if ((descriptor.Flags & kWithoutMemory) == 0) {
    CUresult result = CUDA_SUCCESS;
    made->memory = take_array_memory(made->context, made->layout.bytes(), &result);
    if (result != CUDA_SUCCESS) return result;
    made->start = made->memory->start();
  }
  add_planes(*made);
  *handle = arrays().add(std::move(made));
  return CUDA_SUCCESS;
}

// The next level of a mipmap; layers and faces stay as many.
CUDA_ARRAY3D_DESCRIPTOR halved(CUDA_ARRAY3D_DESCRIPTOR d) {
  const auto half = [](std::size_t extent) { return extent == 0 ? 0 : std::max(extent / 2, {1}); };
  d.Width = half(d.Width);
  d.Height = half(d.Height);
  if ((d.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)) == 0) d.Depth = half(d.Depth);
  return d;
}

CUresult requirements(CUDA_ARRAY_MEMORY_REQUIREMENTS* out, unsigned flags, std::uint64_t bytes,
                      CUdevice device) {
  if (out == nullptr || (flags & CUDA_ARRAY3D_DEFERRED_MAPPING) == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (driver().device(device) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  *out = {};
  out->size = round_up(bytes, kTile);
  out->alignment = kTile;
  return CUDA_SUCCESS;
}

CUresult sparse_properties(CUDA_ARRAY_SPARSE_PROPERTIES* out, const CUDA_ARRAY3D_DESCRIPTOR& d) {
  ArrayLayout layout;
  if (out == nullptr || (d.Flags & CUDA_ARRAY3D_SPARSE) == 0 || !lay_out(d, layout)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const auto element = static_cast<unsigned>(std::max<std::uint64_t>(layout.row / d.Width, 1));
  *out = {};
  out->tileExtent = {256, static_cast<unsigned>(kTile) / 256 / element, 1};
  return CUDA_SUCCESS;
}

CUresult destroy_parts(const std::vector<std::shared_ptr<CUarray_st>>& parts) {
  for (const auto& one : parts) arrays().remove(one.get());
  return CUDA_SUCCESS;
}

}  // namespace

namespace body {

CUresult cuArray3DCreate_v2(CUarray* array, const CUDA_ARRAY3D_DESCRIPTOR* descriptor) {
  return descriptor == nullptr ? CUDA_ERROR_INVALID_VALUE : create(array, *descriptor);
}

CUresult cuArray3DCreate(CUarray* array, const CUDA_ARRAY3D_DESCRIPTOR_v1* d) {
  if (d == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return create(array, {d->Width, d->Height, d->Depth, d->Format, d->NumChannels, d->Flags});
}

CUresult cuArrayCreate_v2(CUarray* array, const CUDA_ARRAY_DESCRIPTOR* descriptor) {
  return descriptor == nullptr ? CUDA_ERROR_INVALID_VALUE : create(array, deep(*descriptor));
}

CUresult cuArrayCreate(CUarray* array, const CUDA_ARRAY_DESCRIPTOR_v1* d) {
  if (d == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return create(array, {d->Width, d->Height, 0, d->Format, d->NumChannels, 0});
}

CUresult cuArrayDestroy(CUarray handle) {
  if (const CUresult refusal = refuse_in_capture(); refusal != CUDA_SUCCESS) return refusal;
  const auto array = arrays().find(handle);
  if (!array) return CUDA_ERROR_INVALID_HANDLE;
  if (array->is_part) return CUDA_ERROR_INVALID_VALUE;
  driver().wait_for_all_work();
  if (!arrays().remove(handle)) return CUDA_ERROR_INVALID_HANDLE;
  return destroy_parts(array->planes);
}

CUresult cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR* out, CUarray handle) {
  const auto array = arrays().find(handle);
  if (!array) return CUDA_ERROR_INVALID_HANDLE;
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = array->descriptor;
  return CUDA_SUCCESS;
}

CUresult cuArray3DGetDescriptor(CUDA_ARRAY3D_DESCRIPTOR_v1* out, CUarray handle) {
  CUDA_ARRAY3D_DESCRIPTOR d;
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUresult result = body::cuArray3DGetDescriptor_v2(&d, handle);
  if (result == CUDA_SUCCESS) {
    *out = {static_cast<unsigned>(d.Width),
            static_cast<unsigned>(d.Height),
            static_cast<unsigned>(d.Depth),
            d.Format,
            d.NumChannels,
            d.Flags};
  }
  return result;
}

CUresult cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR* out, CUarray handle) {
  CUDA_ARRAY3D_DESCRIPTOR d;
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUresult result = body::cuArray3DGetDescriptor_v2(&d, handle);
  if (result == CUDA_SUCCESS) *out = {d.Width, d.Height, d.Format, d.NumChannels};
  return result;
}

CUresult cuArrayGetDescriptor(CUDA_ARRAY_DESCRIPTOR_v1* out, CUarray handle) {
  CUDA_ARRAY3D_DESCRIPTOR d;
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUresult result = body::cuArray3DGetDescriptor_v2(&d, handle);
  if (result == CUDA_SUCCESS) {
    *out = {static_cast<unsigned>(d.Width), static_cast<unsigned>(d.Height), d.Format,
            d.NumChannels};
  }
  return result;
}

CUresult cuArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS* out, CUarray handle,
                                      CUdevice device) {
  const auto array = arrays().find(handle);
  if (!array) return CUDA_ERROR_INVALID_VALUE;
  return requirements(out, array->descriptor.Flags, array->layout.bytes(), device);
}

CUresult cuArrayGetSparseProperties(CUDA_ARRAY_SPARSE_PROPERTIES* out, CUarray handle) {
  const auto array = arrays().find(handle);
  return array ? sparse_properties(out, array->descriptor) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuArrayGetPlane(CUarray* plane, CUarray handle, unsigned number) {
  const auto array = arrays().find(handle);
  if (!array) return CUDA_ERROR_INVALID_HANDLE;
  if (plane == nullptr || number >= array->planes.size()) return CUDA_ERROR_INVALID_VALUE;
  *plane = array->planes[number].get();
  return CUDA_SUCCESS;
}

CUresult cuMipmappedArrayCreate(CUmipmappedArray* handle, const CUDA_ARRAY3D_DESCRIPTOR* descriptor,
                                unsigned levels) {
  if (const CUresult refusal = refuse_in_capture(); refusal != CUDA_SUCCESS) return refusal;
  ArrayLayout layout;
  if (handle == nullptr || descriptor == nullptr || !lay_out(*descriptor, layout)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  CUDA_ARRAY3D_DESCRIPTOR d = *descriptor;
  const bool flat = (d.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)) != 0;
  const std::uint64_t longest = std::max({d.Width, d.Height, flat ? 0 : d.Depth});
  levels = std::clamp(levels, 1U, static_cast<unsigned>(std::bit_width(longest)));  // cuda.h
  auto made = std::make_shared<CUmipmappedArray_st>();
  std::vector<std::pair<CUDA_ARRAY3D_DESCRIPTOR, ArrayLayout>> parts;
  for (unsigned level = 0; level < levels; ++level, d = halved(d)) {
    if (!lay_out(d, layout)) return CUDA_ERROR_INVALID_VALUE;
    parts.emplace_back(d, layout);
    made->bytes += layout.bytes();
  }
  CUarray_st whole;
  whole.context = current_context();
  if ((d.Flags & kWithoutMemory) == 0) {
    CUresult result = CUDA_SUCCESS;
    whole.memory = take_array_memory(whole.context, made->bytes, &result);
    if (result != CUDA_SUCCESS) return result;
    whole.start = whole.memory->start();
  }
  std::uint64_t offset = 0;
  for (const auto& [each, its_layout] : parts) {
    made->levels.push_back(part(each, its_layout, whole, offset));
    offset += its_layout.bytes();
  }
  made->descriptor = *descriptor;
  made->context = whole.context;
  *handle = mipmapped_arrays().add(std::move(made));
  return CUDA_SUCCESS;
}

CUresult cuMipmappedArrayDestroy(CUmipmappedArray handle) {
  if (const CUresult refusal = refuse_in_capture(); refusal != CUDA_SUCCESS) return refusal;
  if (!mipmapped_arrays().find(handle)) return CUDA_ERROR_INVALID_HANDLE;
  driver().wait_for_all_work();
  const auto mipmap = mipmapped_arrays().remove(handle);
  return mipmap ? destroy_parts(mipmap->levels) : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuMipmappedArrayGetLevel(CUarray* level, CUmipmappedArray handle, unsigned number) {
  const auto mipmap = mipmapped_arrays().find(handle);
  if (!mipmap) return CUDA_ERROR_INVALID_HANDLE;
  if (level == nullptr || number >= mipmap->levels.size()) return CUDA_ERROR_INVALID_VALUE;
  *level = mipmap->levels[number].get();
  return CUDA_SUCCESS;
}

CUresult cuMipmappedArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS* out,
                                               CUmipmappedArray handle, CUdevice device) {
  const auto mipmap = mipmapped_arrays().find(handle);
  if (!mipmap) return CUDA_ERROR_INVALID_VALUE;
  return requirements(out, mipmap->descriptor.Flags, mipmap->bytes, device);
}

CUresult cuMipmappedArrayGetSparseProperties(CUDA_ARRAY_SPARSE_PROPERTIES* out,
                                             CUmipmappedArray handle) {
  const auto mipmap = mipmapped_arrays().find(handle);
  return mipmap ? sparse_properties(out, mipmap->descriptor) : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace body

}  // namespace vramscope::simulator
