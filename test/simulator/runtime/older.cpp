// Calls of CUDA 11 and 12 whose parameters are others today.
// SPDX-License-Identifier: Apache-2.0
#include "test/simulator/runtime/older.h"

#include <cstring>

#include "test/simulator/runtime/properties.h"

namespace cudart::older {

namespace {

void describe_added(OlderProperties& properties, int device) {
  const auto attribute = [device](CUdevice_attribute which) {
    int value = 0;
    the_driver().cuDeviceGetAttribute(&value, which, device);
    return value;
  };
  properties.clockRate = attribute(CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
  properties.memoryClockRate = attribute(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
  properties.deviceOverlap = attribute(CU_DEVICE_ATTRIBUTE_GPU_OVERLAP);
  OlderProperties::Added& added = properties.added;
  added.hostRegisterSupported = attribute(CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED);
  added.hostRegisterReadOnlySupported =
      attribute(CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED);
  added.memoryPoolsSupported = attribute(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);
  added.memoryPoolSupportedHandleTypes =
      static_cast<unsigned>(attribute(CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES));
  added.ipcEventSupported = attribute(CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED);
}

cudaError_t describe_older(void* properties, std::size_t bytes, int device) {
  if (properties == nullptr) return cudaErrorInvalidValue;
  OlderProperties all = {};
  if (const cudaError_t error = describe(all, device); error != cudaSuccess) return error;
  describe_added(all, device);
  std::memcpy(properties, &all, bytes);
  return cudaSuccess;
}

}  // namespace

cudaError_t properties_11(void* properties, int device) {
  return describe_older(properties, offsetof(OlderProperties, added), device);
}

cudaError_t properties_12(void* properties, int device) {
  return describe_older(properties, sizeof(OlderProperties), device);
}

cudaError_t prefetch_12(const void* pointer, std::size_t bytes, int device, cudaStream_t stream) {
  return error_of(the_driver().cuMemPrefetchAsync(device_pointer(pointer), bytes, device, stream));
}

cudaError_t advise_12(const void* pointer, std::size_t bytes, cudaMemoryAdvise advice, int device) {
  return error_of(the_driver().cuMemAdvise(device_pointer(pointer), bytes,
                                           static_cast<CUmem_advise>(advice), device));
}

cudaError_t capture_info_11(cudaStream_t stream, cudaStreamCaptureStatus* status,
                            unsigned long long* id) {
  return runtime::capture_info(stream, {.status = status, .id = id});
}

cudaError_t capture_info_12(cudaStream_t stream, cudaStreamCaptureStatus* status,
                            unsigned long long* id, cudaGraph_t* graph,
                            const cudaGraphNode_t** nodes, std::size_t* count) {
  return runtime::capture_info(
      stream, {.status = status, .id = id, .graph = graph, .nodes = nodes, .count = count});
}

cudaError_t instantiate_11(cudaGraphExec_t* executable, cudaGraph_t graph, cudaGraphNode_t* wrong,
                           char* log, std::size_t bytes) {
  if (wrong != nullptr) *wrong = nullptr;
  if (log != nullptr && bytes != 0) *log = '\0';
  return error_of(the_driver().cuGraphInstantiateWithFlags(executable, graph, 0));
}

cudaError_t update_11(cudaGraphExec_t executable, cudaGraph_t graph, cudaGraphNode_t* wrong,
                      cudaGraphExecUpdateResult* result) {
  cudaGraphExecUpdateResultInfo info = {};
  const cudaError_t error = runtime::cudaGraphExecUpdate(executable, graph, &info);
  if (wrong != nullptr) *wrong = info.errorNode;
  if (result != nullptr) *result = info.result;
  return error;
}

// Without a status a name that the driver lacks is an error.
cudaError_t entry_point_11(const char* symbol, void** function, unsigned long long flags) {
  cudaDriverEntryPointQueryResult status = cudaDriverEntryPointSymbolNotFound;
  const cudaError_t error = runtime::cudaGetDriverEntryPoint(symbol, function, flags, &status);
  if (error != cudaSuccess) return error;
  return status == cudaDriverEntryPointSuccess ? cudaSuccess : cudaErrorSymbolNotFound;
}

}  // namespace cudart::older
