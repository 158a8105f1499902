// Texture and surface objects: kept with what they look at, without effect.
// SPDX-License-Identifier: Apache-2.0
#include "test/simulator/device/arrays.h"
#include "test/simulator/driver/driver.h"

namespace vramscope::simulator {

namespace {

struct LookAt {
  CUDA_RESOURCE_DESC resource = {};
  CUDA_TEXTURE_DESC texture = {};
  CUDA_RESOURCE_VIEW_DESC view = {};
  bool has_view = false;
};

Handles<LookAt>& textures() {
  static auto& all = *new Handles<LookAt>;
  return all;
}

Handles<LookAt>& surfaces() {
  static auto& all = *new Handles<LookAt>;
  return all;
}

// An object is the address of what it looks at.
LookAt* handle_of(unsigned long long object) { return reinterpret_cast<LookAt*>(object); }
unsigned long long object_of(LookAt* handle) {
  return reinterpret_cast<unsigned long long>(handle);
}

bool is_there(const CUDA_RESOURCE_DESC& resource) {
  if (resource.flags != 0) return false;
  switch (resource.resType) {
    case CU_RESOURCE_TYPE_ARRAY:
      return arrays().find(resource.res.array.hArray) != nullptr;
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
      return mipmapped_arrays().find(resource.res.mipmap.hMipmappedArray) != nullptr;
    case CU_RESOURCE_TYPE_LINEAR:
      return driver()
          .memory.find(resource.res.linear.devPtr, resource.res.linear.sizeInBytes)
          .has_value();
    case CU_RESOURCE_TYPE_PITCH2D:
      return driver().memory.find(resource.res.pitch2D.devPtr).has_value();
    default:
      return false;
  }
}

template <class Value>
CUresult tell(Value* out, const std::shared_ptr<LookAt>& object, Value LookAt::*part) {
  if (!object || out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = (*object).*part;
  return CUDA_SUCCESS;
}

}  // namespace

namespace body {

CUresult cuTexObjectCreate(CUtexObject* object, const CUDA_RESOURCE_DESC* resource,
                           const CUDA_TEXTURE_DESC* texture, const CUDA_RESOURCE_VIEW_DESC* view) {
  if (object == nullptr || resource == nullptr || texture == nullptr || !is_there(*resource)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  auto made = std::make_shared<LookAt>();
  made->resource = *resource;
  made->texture = *texture;
  if (view != nullptr) made->view = *view;
  made->has_view = view != nullptr;
  *object = object_of(textures().add(std::move(made)));
  return CUDA_SUCCESS;
}

CUresult cuTexObjectDestroy(CUtexObject object) {
  return textures().remove(handle_of(object)) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuTexObjectGetResourceDesc(CUDA_RESOURCE_DESC* out, CUtexObject object) {
  return tell(out, textures().find(handle_of(object)), &LookAt::resource);
}

CUresult cuTexObjectGetTextureDesc(CUDA_TEXTURE_DESC* out, CUtexObject object) {
  return tell(out, textures().find(handle_of(object)), &LookAt::texture);
}

CUresult cuTexObjectGetResourceViewDesc(CUDA_RESOURCE_VIEW_DESC* out, CUtexObject object) {
  const auto found = textures().find(handle_of(object));
  return found && found->has_view ? tell(out, found, &LookAt::view) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuSurfObjectCreate(CUsurfObject* object, const CUDA_RESOURCE_DESC* resource) {
  if (object == nullptr || resource == nullptr || resource->resType != CU_RESOURCE_TYPE_ARRAY ||
      !is_there(*resource)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  auto made = std::make_shared<LookAt>();
  made->resource = *resource;
  *object = object_of(surfaces().add(std::move(made)));
  return CUDA_SUCCESS;
}

CUresult cuSurfObjectDestroy(CUsurfObject object) {
  return surfaces().remove(handle_of(object)) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuSurfObjectGetResourceDesc(CUDA_RESOURCE_DESC* out, CUsurfObject object) {
  return tell(out, surfaces().find(handle_of(object)), &LookAt::resource);
}

CUresult cuDeviceGetTexture1DLinearMaxWidth(std::size_t* width, CUarray_format format,
                                            unsigned channels, CUdevice device) {
  ArrayLayout layout;
  if (driver().device(device) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (width == nullptr || !lay_out({1, 0, 0, format, channels, 0}, layout)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *width = std::size_t{1} << 28;  // elements: what current devices answer
  return CUDA_SUCCESS;
}

}  // namespace body

}  // namespace vramscope::simulator
