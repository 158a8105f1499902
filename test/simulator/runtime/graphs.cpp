// The small runtime: graphs that a program builds node by node, and their memory.
// SPDX-License-Identifier: Apache-2.0
#include "test/simulator/runtime/runtime.h"

namespace cudart::runtime {

namespace {

CUcontext current_context() {
  CUcontext context = nullptr;
  return the_driver().cuCtxGetCurrent(&context) == CUDA_SUCCESS ? context : nullptr;
}

// The runtime names a kernel by its host function.
cudaError_t read(const cudaKernelNodeParams& from, CUDA_KERNEL_NODE_PARAMS_v1& to) {
  to = {};
  if (const cudaError_t error = function_of(from.func, &to.func)) return error;
  to.gridDimX = from.gridDim.x;
  to.gridDimY = from.gridDim.y;
  to.gridDimZ = from.gridDim.z;
  to.blockDimX = from.blockDim.x;
  to.blockDimY = from.blockDim.y;
  to.blockDimZ = from.blockDim.z;
  to.sharedMemBytes = from.sharedMemBytes;
  to.kernelParams = from.kernelParams;
  to.extra = from.extra;
  return cudaSuccess;
}

}  // namespace

cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned flags) {
  return error_of(the_driver().cuGraphCreate(graph, flags));
}

cudaError_t cudaGraphClone(cudaGraph_t* clone, cudaGraph_t graph) {
  return error_of(the_driver().cuGraphClone(clone, graph));
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, std::size_t* count) {
  return error_of(the_driver().cuGraphGetNodes(graph, nodes, count));
}

cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, std::size_t* count) {
  return error_of(the_driver().cuGraphGetRootNodes(graph, nodes, count));
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type) {
  CUgraphNodeType answer = CU_GRAPH_NODE_TYPE_EMPTY;
  if (type == nullptr) return cudaErrorInvalidValue;
  const CUresult result = the_driver().cuGraphNodeGetType(node, &answer);
  if (result == CUDA_SUCCESS) *type = static_cast<cudaGraphNodeType>(answer);
  return error_of(result);
}

cudaError_t cudaGraphDestroyNode(cudaGraphNode_t node) {
  return error_of(the_driver().cuGraphDestroyNode(node));
}

cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                  const cudaGraphNode_t* after, std::size_t count) {
  return error_of(the_driver().cuGraphAddEmptyNode(node, graph, after, count));
}

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                   const cudaGraphNode_t* after, std::size_t count,
                                   const cudaKernelNodeParams* parameters) {
  CUDA_KERNEL_NODE_PARAMS_v1 kernel;
  if (parameters == nullptr) return cudaErrorInvalidValue;
  if (const cudaError_t error = read(*parameters, kernel)) return error;
  return error_of(the_driver().cuGraphAddKernelNode(node, graph, after, count, &kernel));
}

cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node, cudaKernelNodeParams* out) {
  CUDA_KERNEL_NODE_PARAMS_v1 kernel = {};
  if (out == nullptr) return cudaErrorInvalidValue;
  const CUresult result = the_driver().cuGraphKernelNodeGetParams(node, &kernel);
  if (result != CUDA_SUCCESS) return error_of(result);
  const void* const host = host_of(kernel.func);
  if (host == nullptr) return cudaErrorInvalidDeviceFunction;  // not the runtime's
  *out = {const_cast<void*>(host),
          {kernel.gridDimX, kernel.gridDimY, kernel.gridDimZ},
          {kernel.blockDimX, kernel.blockDimY, kernel.blockDimZ},
          kernel.sharedMemBytes,
          kernel.kernelParams,
          kernel.extra};
  return cudaSuccess;
}

cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node,
                                         const cudaKernelNodeParams* parameters) {
  CUDA_KERNEL_NODE_PARAMS_v1 kernel;
  if (parameters == nullptr) return cudaErrorInvalidValue;
  if (const cudaError_t error = read(*parameters, kernel)) return error;
  return error_of(the_driver().cuGraphKernelNodeSetParams(node, &kernel));
}

cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                             const cudaKernelNodeParams* parameters) {
  CUDA_KERNEL_NODE_PARAMS_v1 kernel;
  if (parameters == nullptr) return cudaErrorInvalidValue;
  if (const cudaError_t error = read(*parameters, kernel)) return error;
  return error_of(the_driver().cuGraphExecKernelNodeSetParams(executable, node, &kernel));
}

cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                   const cudaGraphNode_t* after, std::size_t count,
                                   const cudaMemcpy3DParms* parameters) {
  CUDA_MEMCPY3D copy;
  if (parameters == nullptr) return cudaErrorInvalidValue;
  if (const cudaError_t error = box(*parameters, copy)) return error;
  return error_of(
      the_driver().cuGraphAddMemcpyNode(node, graph, after, count, &copy, current_context()));
}

cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* node, cudaGraph_t graph,
                                     const cudaGraphNode_t* after, std::size_t count, void* to,
                                     const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  cudaMemcpy3DParms line = {};
  line.srcPtr = {const_cast<void*>(from), bytes, bytes, 1};
  line.dstPtr = {to, bytes, bytes, 1};
  line.extent = {bytes, 1, 1};
  line.kind = kind;
  return runtime::cudaGraphAddMemcpyNode(node, graph, after, count, &line);
}

cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                   const cudaGraphNode_t* after, std::size_t count,
                                   const cudaMemsetParams* parameters) {
  if (parameters == nullptr) return cudaErrorInvalidValue;
  const CUDA_MEMSET_NODE_PARAMS set = {
      device_pointer(parameters->dst), parameters->pitch, parameters->value,
      parameters->elementSize,         parameters->width, parameters->height};
  return error_of(
      the_driver().cuGraphAddMemsetNode(node, graph, after, count, &set, current_context()));
}

cudaError_t cudaGraphAddHostNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                 const cudaGraphNode_t* after, std::size_t count,
                                 const cudaHostNodeParams* parameters) {
  if (parameters == nullptr) return cudaErrorInvalidValue;
  const CUDA_HOST_NODE_PARAMS call = {parameters->fn, parameters->userData};
  return error_of(the_driver().cuGraphAddHostNode(node, graph, after, count, &call));
}

cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                       const cudaGraphNode_t* after, std::size_t count,
                                       cudaGraph_t child) {
  return error_of(the_driver().cuGraphAddChildGraphNode(node, graph, after, count, child));
}

cudaError_t cudaGraphAddMemAllocNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                     const cudaGraphNode_t* after, std::size_t count,
                                     cudaMemAllocNodeParams* parameters) {
  static_assert(sizeof(CUDA_MEM_ALLOC_NODE_PARAMS) == sizeof(cudaMemAllocNodeParams));
  return error_of(the_driver().cuGraphAddMemAllocNode(
      node, graph, after, count, reinterpret_cast<CUDA_MEM_ALLOC_NODE_PARAMS*>(parameters)));
}

cudaError_t cudaGraphMemAllocNodeGetParams(cudaGraphNode_t node, cudaMemAllocNodeParams* out) {
  return error_of(the_driver().cuGraphMemAllocNodeGetParams(
      node, reinterpret_cast<CUDA_MEM_ALLOC_NODE_PARAMS*>(out)));
}

cudaError_t cudaGraphAddMemFreeNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                    const cudaGraphNode_t* after, std::size_t count,
                                    void* pointer) {
  return error_of(
      the_driver().cuGraphAddMemFreeNode(node, graph, after, count, device_pointer(pointer)));
}

cudaError_t cudaGraphMemFreeNodeGetParams(cudaGraphNode_t node, void* out) {
  return error_of(the_driver().cuGraphMemFreeNodeGetParams(node, static_cast<CUdeviceptr*>(out)));
}

cudaError_t cudaGraphUpload(cudaGraphExec_t executable, cudaStream_t stream) {
  return error_of(the_driver().cuGraphUpload(executable, stream));
}

cudaError_t cudaDeviceGraphMemTrim(int device) {
  return error_of(the_driver().cuDeviceGraphMemTrim(device));
}

cudaError_t cudaDeviceGetGraphMemAttribute(int device, cudaGraphMemAttributeType name,
                                           void* value) {
  return error_of(the_driver().cuDeviceGetGraphMemAttribute(
      device, static_cast<CUgraphMem_attribute>(name), value));
}

cudaError_t cudaDeviceSetGraphMemAttribute(int device, cudaGraphMemAttributeType name,
                                           void* value) {
  return error_of(the_driver().cuDeviceSetGraphMemAttribute(
      device, static_cast<CUgraphMem_attribute>(name), value));
}

}  // namespace cudart::runtime
