// The small runtime: streams, events, captures and graphs.
// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "test/simulator/runtime/runtime.h"

namespace cudart::runtime {

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return error_of(the_driver().cuStreamCreate(stream, CU_STREAM_DEFAULT));
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return error_of(the_driver().cuStreamCreate(stream, flags));
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  return error_of(the_driver().cuStreamCreateWithPriority(stream, flags, priority));
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return error_of(the_driver().cuStreamDestroy(stream));
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return error_of(the_driver().cuStreamSynchronize(stream));
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return error_of(the_driver().cuStreamQuery(stream));
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
  return error_of(the_driver().cuStreamWaitEvent(stream, event, flags));
}

namespace {

struct Callback {
  cudaStreamCallback_t function;
  void* data;
};

void CUDA_CB call_back(CUstream stream, CUresult status, void* data) {
  const std::unique_ptr<Callback> callback(static_cast<Callback*>(data));
  callback->function(stream, error_of(status), callback->data);
}

}  // namespace

cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t function, void* data,
                                  unsigned flags) {
  if (function == nullptr) return cudaErrorInvalidValue;
  auto callback = std::make_unique<Callback>(Callback{function, data});
  const CUresult result =
      the_driver().cuStreamAddCallback(stream, call_back, callback.get(), flags);
  if (result == CUDA_SUCCESS) callback.release();
  return error_of(result);
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  return error_of(the_driver().cuLaunchHostFunc(stream, function, data));
}

cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void* pointer, std::size_t bytes,
                                     unsigned flags) {
  return error_of(
      the_driver().cuStreamAttachMemAsync(stream, device_pointer(pointer), bytes, flags));
}

cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned* flags) {
  return error_of(the_driver().cuStreamGetFlags(stream, flags));
}

cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
  return error_of(the_driver().cuStreamGetPriority(stream, priority));
}

cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long* id) {
  return call_newer(&DriverFunctions::cuStreamGetId, stream, id);
}

cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* device) {
  return call_newer(&DriverFunctions::cuStreamGetDevice, stream, device);
}

// Attributes are the driver's under other names (driver_types.h).
cudaError_t cudaStreamGetAttribute(cudaStream_t stream, cudaStreamAttrID name,
                                   cudaStreamAttrValue* value) {
  static_assert(sizeof(CUstreamAttrValue) == sizeof(cudaStreamAttrValue));
  return error_of(the_driver().cuStreamGetAttribute(stream, static_cast<CUstreamAttrID>(name),
                                                    reinterpret_cast<CUstreamAttrValue*>(value)));
}

cudaError_t cudaStreamSetAttribute(cudaStream_t stream, cudaStreamAttrID name,
                                   const cudaStreamAttrValue* value) {
  return error_of(
      the_driver().cuStreamSetAttribute(stream, static_cast<CUstreamAttrID>(name),
                                        reinterpret_cast<const CUstreamAttrValue*>(value)));
}

cudaError_t cudaStreamCopyAttributes(cudaStream_t into, cudaStream_t from) {
  return error_of(the_driver().cuStreamCopyAttributes(into, from));
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  return error_of(
      the_driver().cuStreamBeginCapture(stream, static_cast<CUstreamCaptureMode>(mode)));
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  return error_of(the_driver().cuStreamEndCapture(stream, graph));
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  if (status == nullptr) return cudaErrorInvalidValue;
  CUstreamCaptureStatus answer = CU_STREAM_CAPTURE_STATUS_NONE;
  const CUresult result = the_driver().cuStreamIsCapturing(stream, &answer);
  *status = static_cast<cudaStreamCaptureStatus>(answer);
  return error_of(result);
}

cudaError_t capture_info(cudaStream_t stream, const CaptureInfo& out) {
  if (out.status == nullptr) return cudaErrorInvalidValue;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  cuuint64_t id = 0;
  CUgraph graph = nullptr;
  const CUgraphNode* nodes = nullptr;
  std::size_t count = 0;
  const CUresult result =
      the_driver().cuStreamGetCaptureInfo(stream, &status, &id, &graph, &nodes, &count);
  if (result != CUDA_SUCCESS) return error_of(result);
  *out.status = static_cast<cudaStreamCaptureStatus>(status);
  if (status != CU_STREAM_CAPTURE_STATUS_ACTIVE) return cudaSuccess;
  if (out.id != nullptr) *out.id = id;
  if (out.graph != nullptr) *out.graph = graph;
  if (out.nodes != nullptr) *out.nodes = nodes;
  if (out.edges != nullptr) *out.edges = nullptr;  // none carries anything
  if (out.count != nullptr) *out.count = count;
  return cudaSuccess;
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                     unsigned long long* id, cudaGraph_t* graph,
                                     const cudaGraphNode_t** nodes, const cudaGraphEdgeData** edges,
                                     std::size_t* count) {
  return capture_info(stream, {status, id, graph, nodes, edges, count});
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  if (mode == nullptr) return cudaErrorInvalidValue;
  auto exchanged = static_cast<CUstreamCaptureMode>(*mode);
  const CUresult result = the_driver().cuThreadExchangeStreamCaptureMode(&exchanged);
  if (result == CUDA_SUCCESS) *mode = static_cast<cudaStreamCaptureMode>(exchanged);
  return error_of(result);
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph,
                                 unsigned long long flags) {
  return error_of(the_driver().cuGraphInstantiateWithFlags(executable, graph, flags));
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* executable, cudaGraph_t graph,
                                          unsigned long long flags) {
  return error_of(the_driver().cuGraphInstantiateWithFlags(executable, graph, flags));
}

// By the driver's first generation of this call, which all drivers have and which names one node.
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t executable, cudaGraph_t graph,
                                cudaGraphExecUpdateResultInfo* info) {
  if (info == nullptr) return cudaErrorInvalidValue;
  CUgraphNode wrong = nullptr;
  CUgraphExecUpdateResult result = CU_GRAPH_EXEC_UPDATE_SUCCESS;
  const CUresult updated = the_driver().cuGraphExecUpdate(executable, graph, &wrong, &result);
  *info = {static_cast<cudaGraphExecUpdateResult>(result), wrong, nullptr};
  return error_of(updated);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  return error_of(the_driver().cuGraphLaunch(executable, stream));
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  return error_of(the_driver().cuGraphDestroy(graph));
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  return error_of(the_driver().cuGraphExecDestroy(executable));
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return error_of(the_driver().cuEventCreate(event, CU_EVENT_DEFAULT));
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  return error_of(the_driver().cuEventCreate(event, flags));
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return error_of(the_driver().cuEventDestroy(event));
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return error_of(the_driver().cuEventRecord(event, stream));
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags) {
  if (flags != cudaEventRecordDefault) return cudaErrorNotSupported;
  return runtime::cudaEventRecord(event, stream);
}

cudaError_t cudaEventQuery(cudaEvent_t event) { return error_of(the_driver().cuEventQuery(event)); }

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return error_of(the_driver().cuEventSynchronize(event));
}

cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t start, cudaEvent_t end) {
  return error_of(the_driver().cuEventElapsedTime(ms, start, end));
}

}  // namespace cudart::runtime
