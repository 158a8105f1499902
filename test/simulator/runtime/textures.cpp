// The small runtime: texture and surface objects, which look at arrays and at linear memory.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>

#include "test/simulator/runtime/arrays.h"

namespace cudart::runtime {

namespace {

// False for elements that the driver has no name for.
bool read_resource(const cudaResourceDesc& from, CUDA_RESOURCE_DESC& to) {
  ElementFormat element;
  to = {};
  to.resType = static_cast<CUresourcetype>(from.resType);
  if constexpr (kVersion >= 13000) to.flags = from.flags;  // the older structure ends before
  switch (from.resType) {
    case cudaResourceTypeArray:
      to.res.array.hArray = handle_of(from.res.array.array);
      return true;
    case cudaResourceTypeMipmappedArray:
      to.res.mipmap.hMipmappedArray = reinterpret_cast<CUmipmappedArray>(from.res.mipmap.mipmap);
      return true;
    case cudaResourceTypeLinear:
      if (!read(from.res.linear.desc, element)) return false;
      to.res.linear = {device_pointer(from.res.linear.devPtr), element.format, element.channels,
                       from.res.linear.sizeInBytes};
      return true;
    case cudaResourceTypePitch2D:
      if (!read(from.res.pitch2D.desc, element)) return false;
      to.res.pitch2D = {device_pointer(from.res.pitch2D.devPtr),
                        element.format,
                        element.channels,
                        from.res.pitch2D.width,
                        from.res.pitch2D.height,
                        from.res.pitch2D.pitchInBytes};
      return true;
  }
  return false;
}

// Until CUDA 12 a program has no room behind the last layer.
constexpr std::size_t kViewBytes =
    kVersion < 13000 ? offsetof(cudaResourceViewDesc, lastLayer) + sizeof(unsigned)
                     : sizeof(cudaResourceViewDesc);

// The fields that every major has; the numbers of modes are the driver's (texture_types.h).
CUDA_TEXTURE_DESC read_texture(const cudaTextureDesc& from) {
  CUDA_TEXTURE_DESC to = {};
  std::transform(std::begin(from.addressMode), std::end(from.addressMode), to.addressMode,
                 [](cudaTextureAddressMode mode) { return static_cast<CUaddress_mode>(mode); });
  to.filterMode = static_cast<CUfilter_mode>(from.filterMode);
  if (from.readMode == cudaReadModeElementType) to.flags |= CU_TRSF_READ_AS_INTEGER;
  if (from.normalizedCoords != 0) to.flags |= CU_TRSF_NORMALIZED_COORDINATES;
  if (from.sRGB != 0) to.flags |= CU_TRSF_SRGB;
  to.maxAnisotropy = from.maxAnisotropy;
  to.mipmapFilterMode = static_cast<CUfilter_mode>(from.mipmapFilterMode);
  to.mipmapLevelBias = from.mipmapLevelBias;
  to.minMipmapLevelClamp = from.minMipmapLevelClamp;
  to.maxMipmapLevelClamp = from.maxMipmapLevelClamp;
  std::copy(std::begin(from.borderColor), std::end(from.borderColor), to.borderColor);
  return to;
}

}  // namespace

cudaError_t cudaCreateTextureObject(cudaTextureObject_t* object, const cudaResourceDesc* resource,
                                    const cudaTextureDesc* texture,
                                    const cudaResourceViewDesc* view) {
  static_assert(sizeof(CUDA_RESOURCE_VIEW_DESC) == sizeof(cudaResourceViewDesc));
  CUDA_RESOURCE_DESC read = {};
  if (resource == nullptr || texture == nullptr) return cudaErrorInvalidValue;
  if (!read_resource(*resource, read)) return cudaErrorInvalidChannelDescriptor;
  const CUDA_TEXTURE_DESC read_as = read_texture(*texture);
  CUDA_RESOURCE_VIEW_DESC read_view = {};
  if (view != nullptr) std::memcpy(&read_view, view, kViewBytes);
  return error_of(the_driver().cuTexObjectCreate(object, &read, &read_as,
                                                 view == nullptr ? nullptr : &read_view));
}

cudaError_t cudaDestroyTextureObject(cudaTextureObject_t object) {
  return error_of(the_driver().cuTexObjectDestroy(object));
}

cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t* object, const cudaResourceDesc* resource) {
  CUDA_RESOURCE_DESC read = {};
  if (resource == nullptr) return cudaErrorInvalidValue;
  if (!read_resource(*resource, read)) return cudaErrorInvalidChannelDescriptor;
  return error_of(the_driver().cuSurfObjectCreate(object, &read));
}

cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t object) {
  return error_of(the_driver().cuSurfObjectDestroy(object));
}

}  // namespace cudart::runtime
