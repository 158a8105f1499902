// Green contexts: parts of a device's multiprocessors, each a view of the primary context, whose
// memory they share. Work takes no longer on a part: kernels are not executed.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <span>

#include "test/simulator/driver/driver.h"

struct CUdevResourceDesc_st {
  int device = 0;
  unsigned multiprocessors = 0;
};
struct CUgreenCtx_st {
  int device = 0;
  unsigned multiprocessors = 0;
  CUcontext view = nullptr;  // what it is as a context
};

namespace vramscope::simulator {

namespace {

Handles<CUdevResourceDesc_st>& descriptions() {
  static auto& all = *new Handles<CUdevResourceDesc_st>;
  return all;
}

Handles<CUgreenCtx_st>& green_contexts() {
  static auto& all = *new Handles<CUgreenCtx_st>;
  return all;
}

// What a resource says of itself in the bytes that programs leave alone (_internal_padding).
struct PartOrigin {
  static constexpr std::uint64_t kMark = 0x534d2d7061727473;
  std::uint64_t mark = kMark;
  std::uint64_t split =
      0;  // number of the split that made it; 0: it is whole, of a device or context
  int device = 0;
};
static_assert(sizeof(PartOrigin) <= sizeof(CUdevResource::_internal_padding));

// How many multiprocessors a part has at least, and of which number it has a multiple: CUDA
// programming guide, "Green Contexts", by compute capability.
struct Grain {
  unsigned least = 1, multiple = 1;
};
Grain grain(unsigned flags = 0) {
  const int major = configuration().model.major;
  if (major >= 9 && (flags & CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING) != 0) return {2, 2};
  if (major >= 9) return {8, 8};
  if (major == 8) return {4, 2};
  return major == 7 ? Grain{2, 2} : Grain{1, 1};
}

CUdevResource resource_of(int device, unsigned multiprocessors, std::uint64_t split = 0) {
  CUdevResource made = {};
  made.type = CU_DEV_RESOURCE_TYPE_SM;
  made.sm.smCount = multiprocessors;
  made.sm.minSmPartitionSize = grain().least;
  made.sm.smCoscheduledAlignment = grain().multiple;
  const PartOrigin origin{.split = split, .device = device};
  std::memcpy(made._internal_padding, &origin, sizeof origin);
  return made;
}

// The program's own, made by none of these calls: no mark.
PartOrigin origin_of(const CUdevResource& resource) {
  PartOrigin origin;
  std::memcpy(&origin, resource._internal_padding, sizeof origin);
  return origin;
}

CUresult check(const CUdevResource* resource) {
  if (resource == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (resource->type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
  return origin_of(*resource).mark == PartOrigin::kMark ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult answer(CUdevResource* resource, CUdevResourceType type, int device,
                unsigned multiprocessors) {
  if (resource == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
  *resource = resource_of(device, multiprocessors);
  return CUDA_SUCCESS;
}

unsigned all_multiprocessors() {
  return static_cast<unsigned>(configuration().model.multiprocessors);
}

std::shared_ptr<CUgreenCtx_st> green_of(CUcontext view) {
  const auto all = green_contexts().all();
  const auto found = std::ranges::find(all, view, &CUgreenCtx_st::view);
  return found == all.end() ? nullptr : *found;
}

}  // namespace

namespace body {

CUresult cuDeviceGetDevResource(CUdevice ordinal, CUdevResource* resource, CUdevResourceType type) {
  if (driver().device(ordinal) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  return answer(resource, type, ordinal, all_multiprocessors());
}

CUresult cuCtxGetDevResource(CUcontext context, CUdevResource* resource, CUdevResourceType type) {
  if (const CUresult no = check_context(context); no != CUDA_SUCCESS) return no;
  const auto green = green_of(context);
  return answer(resource, type, context->device,
                green ? green->multiprocessors : all_multiprocessors());
}

CUresult cuGreenCtxGetDevResource(CUgreenCtx context, CUdevResource* resource,
                                  CUdevResourceType type) {
  const auto green = green_contexts().find(context);
  if (!green) return CUDA_ERROR_INVALID_CONTEXT;
  return answer(resource, type, green->device, green->multiprocessors);
}

CUresult cuDevSmResourceSplitByCount(CUdevResource* result, unsigned* groups,
                                     const CUdevResource* input, CUdevResource* remaining,
                                     unsigned flags, unsigned least) {
  if (groups == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult no = check(input); no != CUDA_SUCCESS) return no;
  const PartOrigin origin = origin_of(*input);
  const unsigned whole = input->sm.smCount;
  constexpr unsigned kFlags = CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING |
                              CU_DEV_SM_RESOURCE_SPLIT_MAX_POTENTIAL_CLUSTER_SIZE;
  if (least > whole || (flags & ~kFlags) != 0) return CUDA_ERROR_INVALID_VALUE;
  if (origin.split != 0) return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;  // make a context of it
  const auto [smallest, multiple] = grain(flags);
  const unsigned wanted = std::max(least, smallest);
  const unsigned each = (wanted + multiple - 1) / multiple * multiple;
  const unsigned fit = whole / each;
  if (fit == 0) return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
  const unsigned made = result == nullptr ? fit : std::min(*groups, fit);
  const std::uint64_t split = driver().next_id++;
  for (unsigned i = 0; result != nullptr && i < made; ++i)
    result[i] = resource_of(origin.device, each, split);
  if (remaining != nullptr) *remaining = resource_of(origin.device, whole - made * each, split);
  if (remaining != nullptr && remaining->sm.smCount == 0)
    remaining->type = CU_DEV_RESOURCE_TYPE_INVALID;
  *groups = made;
  return CUDA_SUCCESS;
}

CUresult cuDevResourceGenerateDesc(CUdevResourceDesc* description, CUdevResource* resources,
                                   unsigned count) {
  if (description == nullptr || resources == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
  const std::span<const CUdevResource> parts(resources, count);
  const auto made = std::make_shared<CUdevResourceDesc_st>();
  for (const CUdevResource& part : parts) {
    if (const CUresult no = check(&part); no != CUDA_SUCCESS) return no;
    const PartOrigin origin = origin_of(part);
    const PartOrigin first = origin_of(parts.front());
    const bool belongs = origin.device == first.device && origin.split == first.split;
    if (!belongs || (count > 1 && origin.split == 0))
      return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
    made->device = origin.device;
    made->multiprocessors += part.sm.smCount;
  }
  *description = descriptions().add(made);
  return CUDA_SUCCESS;
}

CUresult cuGreenCtxCreate(CUgreenCtx* context, CUdevResourceDesc handle, CUdevice ordinal,
                          unsigned flags) {
  if (context == nullptr || flags != CU_GREEN_CTX_DEFAULT_STREAM) return CUDA_ERROR_INVALID_VALUE;
  if (driver().device(ordinal) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  const auto description = descriptions().find(handle);
  if (!description || description->device != ordinal) return CUDA_ERROR_INVALID_VALUE;
  CUcontext primary = nullptr;
  if (const CUresult no = body::cuDevicePrimaryCtxRetain(&primary, ordinal); no != CUDA_SUCCESS)
    return no;
  const auto made = std::make_shared<CUgreenCtx_st>();
  made->device = ordinal;
  made->multiprocessors = description->multiprocessors;
  made->view = view_of(primary);
  *context = green_contexts().add(made);
  return CUDA_SUCCESS;
}

// Its streams end with it (not with a leak, as cuda.h has it).
CUresult cuGreenCtxDestroy(CUgreenCtx context) {
  const auto green = green_contexts().find(context);
  if (!green || !green_contexts().remove(context)) return CUDA_ERROR_INVALID_CONTEXT;
  green->view->alive = false;
  streams().remove_if([&](const CUstream_st& stream) { return stream.green == context; });
  return body::cuDevicePrimaryCtxRelease_v2(green->device);
}

CUresult cuCtxFromGreenCtx(CUcontext* context, CUgreenCtx handle) {
  const auto green = green_contexts().find(handle);
  if (!green) return CUDA_ERROR_INVALID_CONTEXT;
  if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *context = green->view;
  return CUDA_SUCCESS;
}

CUresult cuGreenCtxGetId(CUgreenCtx handle, unsigned long long* id) {
  const auto green = green_contexts().find(handle);
  if (!green) return CUDA_ERROR_INVALID_CONTEXT;
  if (id == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *id = green->view->id;
  return CUDA_SUCCESS;
}

CUresult cuGreenCtxStreamCreate(CUstream* stream, CUgreenCtx handle, unsigned flags, int priority) {
  const auto green = green_contexts().find(handle);
  if (!green) return CUDA_ERROR_INVALID_CONTEXT;
  if (stream == nullptr || flags != CU_STREAM_NON_BLOCKING) return CUDA_ERROR_INVALID_VALUE;
  CUcontext primary = green->view->base;
  const auto made =
      primary->streams.create(primary, flags, std::clamp(priority, kGreatestPriority, 0));
  made->green = handle;
  *stream = streams().add(made);
  return CUDA_SUCCESS;
}

CUresult cuStreamGetGreenCtx(CUstream handle, CUgreenCtx* context) {
  if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto stream = resolve(handle);
  if (!stream) return CUDA_ERROR_INVALID_HANDLE;
  *context = stream->green;
  return CUDA_SUCCESS;
}

// A stream of a green context has no other one.
CUresult cuStreamGetCtx_v2(CUstream handle, CUcontext* context, CUgreenCtx* green) {
  if (context == nullptr || green == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto stream = resolve(handle);
  if (!stream) return CUDA_ERROR_INVALID_HANDLE;
  *green = stream->green;
  *context = stream->green != nullptr ? nullptr : stream->context;
  return CUDA_SUCCESS;
}

}  // namespace body

}  // namespace vramscope::simulator
