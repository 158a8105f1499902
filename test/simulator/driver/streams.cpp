// Streams as programs see them: creation, waiting, callbacks.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "test/simulator/driver/driver.h"

namespace vramscope::simulator {

namespace {

CUresult create(CUstream* handle, unsigned flags, int priority) {
  if (handle == nullptr || flags > CU_STREAM_NON_BLOCKING) return CUDA_ERROR_INVALID_VALUE;
  CUcontext context = current_context();
  *handle = streams().add(context->streams.create(context, flags, priority));
  return CUDA_SUCCESS;
}

// What streams have of all attributes (cuda.h); no work is done otherwise for them.
bool is_of_streams(CUstreamAttrID name) {
  switch (name) {
    case CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW:
    case CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY:
    case CU_STREAM_ATTRIBUTE_PRIORITY:
    case CU_STREAM_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
    case CU_STREAM_ATTRIBUTE_MEM_SYNC_DOMAIN:
      return true;
    default:
      return false;
  }
}

CUstreamAttrValue default_of(CUstreamAttrID name) {
  CUstreamAttrValue value = {};
  if (name == CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY) value.syncPolicy = CU_SYNC_POLICY_AUTO;
  if (name == CU_STREAM_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP) value.memSyncDomainMap.remote = 1;
  return value;
}

}  // namespace

namespace body {

CUresult cuStreamCreate(CUstream* stream, unsigned flags) { return create(stream, flags, 0); }

CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int priority) {
  return create(stream, flags, std::clamp(priority, kGreatestPriority, 0));
}

CUresult cuStreamDestroy_v2(CUstream handle) {
  const auto stream = streams().remove(handle);
  if (!stream) return CUDA_ERROR_INVALID_HANDLE;
  leave_capture(*stream);
  stream->context->streams.close(stream);
  return CUDA_SUCCESS;
}

CUresult cuStreamDestroy(CUstream stream) { return body::cuStreamDestroy_v2(stream); }

CUresult cuStreamSynchronize(CUstream handle) {
  const auto stream = resolve(handle);
  if (!stream) return CUDA_ERROR_INVALID_HANDLE;
  if (const CUresult no = refuse_while_capturing(*stream); no != CUDA_SUCCESS) return no;
  if (const CUresult no = refuse_implicit(*stream); no != CUDA_SUCCESS) return no;
  if (const CUresult no = refuse_in_capture(); no != CUDA_SUCCESS) return no;
  for (const Point& point : stream->context->streams.tails(*stream)) wait_for(point);
  trim_pools();
  return check_device_of(stream->context);
}

CUresult cuStreamQuery(CUstream handle) {
  const auto stream = resolve(handle);
  if (!stream) return CUDA_ERROR_INVALID_HANDLE;
  if (const CUresult no = refuse_while_capturing(*stream); no != CUDA_SUCCESS) return no;
  if (const CUresult no = refuse_implicit(*stream); no != CUDA_SUCCESS) return no;
  const auto tails = stream->context->streams.tails(*stream);
  return std::ranges::all_of(tails, &Point::reached) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult cuStreamAddCallback(CUstream handle, CUstreamCallback callback, void* data,
                             unsigned flags) {
  if (callback == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  const auto stream = resolve(handle);
  if (!stream) return CUDA_ERROR_INVALID_HANDLE;
  if (const CUresult no = refuse_while_capturing(*stream); no != CUDA_SUCCESS) return no;
  return submit(*stream, [=] { callback(handle, CUDA_SUCCESS, data); });
}

CUresult cuLaunchHostFunc(CUstream handle, CUhostFn function, void* data) {
  if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto stream = resolve(handle);
  if (!stream) return CUDA_ERROR_INVALID_HANDLE;
  CUgraphNodeParams node = parameters_for(CU_GRAPH_NODE_TYPE_HOST);
  node.host = {.fn = function, .userData = data};
  return submit(
      *stream, [=] { function(data); }, nullptr, &node);
}

CUresult cuStreamGetFlags(CUstream handle, unsigned* flags) {
  if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto stream = resolve(handle);
  if (!stream) return CUDA_ERROR_INVALID_HANDLE;
  *flags = stream->flags;
  return CUDA_SUCCESS;
}

CUresult cuStreamGetPriority(CUstream handle, int* priority) {
  if (priority == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto stream = resolve(handle);
  if (!stream) return CUDA_ERROR_INVALID_HANDLE;
  *priority = stream->priority;
  return CUDA_SUCCESS;
}

CUresult cuStreamGetCtx(CUstream handle, CUcontext* context) {
  if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto stream = resolve(handle);
  if (!stream) return CUDA_ERROR_INVALID_HANDLE;
  *context = stream->context;
  return CUDA_SUCCESS;
}

CUresult cuStreamGetDevice(CUstream handle, CUdevice* device) {
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto stream = resolve(handle);
  if (!stream) return CUDA_ERROR_INVALID_HANDLE;
  *device = stream->context->device;
  return CUDA_SUCCESS;
}

CUresult cuStreamGetId(CUstream handle, unsigned long long* id) {
  if (id == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto stream = resolve(handle);
  if (!stream) return CUDA_ERROR_INVALID_HANDLE;
  if (const CUresult no = refuse_while_capturing(*stream); no != CUDA_SUCCESS) return no;
  *id = stream->id;
  return CUDA_SUCCESS;
}

CUresult cuStreamGetAttribute(CUstream handle, CUstreamAttrID name, CUstreamAttrValue* value) {
  if (value == nullptr || !is_of_streams(name)) return CUDA_ERROR_INVALID_VALUE;
  const auto stream = resolve(handle);
  if (!stream) return CUDA_ERROR_INVALID_HANDLE;
  const std::lock_guard lock(stream->mutex);
  const auto set = stream->attributes.find(name);
  *value = set == stream->attributes.end() ? default_of(name) : set->second;
  if (name == CU_STREAM_ATTRIBUTE_PRIORITY) value->priority = stream->priority;
  return CUDA_SUCCESS;
}

CUresult cuStreamSetAttribute(CUstream handle, CUstreamAttrID name,
                              const CUstreamAttrValue* value) {
  if (value == nullptr || !is_of_streams(name)) return CUDA_ERROR_INVALID_VALUE;
  const auto stream = resolve(handle);
  if (!stream) return CUDA_ERROR_INVALID_HANDLE;
  if (name == CU_STREAM_ATTRIBUTE_PRIORITY) {
    stream->priority = std::clamp(value->priority, kGreatestPriority, 0);
    return CUDA_SUCCESS;
  }
  const std::lock_guard lock(stream->mutex);
  stream->attributes[name] = *value;
  return CUDA_SUCCESS;
}

CUresult cuStreamCopyAttributes(CUstream into, CUstream from) {
  const auto target = resolve(into);
  const auto source = resolve(from);
  if (!target || !source) return CUDA_ERROR_INVALID_HANDLE;
  if (target == source) return CUDA_SUCCESS;
  const std::scoped_lock lock(target->mutex, source->mutex);
  target->attributes = source->attributes;
  target->priority = source->priority.load();
  return CUDA_SUCCESS;
}

}  // namespace body

}  // namespace vramscope::simulator
