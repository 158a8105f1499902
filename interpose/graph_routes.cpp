// Stream-ordered memory, which becomes a graph's while its stream is captured, and memory nodes.
// SPDX-License-Identifier: Apache-2.0
#include "interpose/real.h"
#include "interpose/routes.h"

namespace vramscope::routes {
namespace {

void add_node(Call& call, CUgraph graph, Place where, CUdeviceptr address, std::size_t bytes) {
  if (!call.profiler().graph_memory().added(graph, address)) call.count_unrecorded();
  call.adopt(where, address, bytes);
}

// The device of memory that came from a pool, which need not be the current one.
Place pool_place(Call& call, CUdeviceptr address) {
  Place where = call.place_of(Kind::stream_ordered);
  int device = 0;
  const CUresult code =
      real().cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address);
  if (code == CUDA_SUCCESS && device >= 0) where.device = static_cast<std::uint16_t>(device);
  return where;
}

enum class Pool : bool { of_stream, given };

CUresult allocate_in_order(Call& call, const DirectCall& direct, CUdeviceptr* dptr,
                           std::size_t bytes, CUstream stream, bool per_thread, Pool pool) {
  const CUresult code = bounded(call, direct, bytes);
  if (code != CUDA_SUCCESS) return code;
  CUgraph graph = nullptr;
  if (call.profiler().captures().any()) graph = Captures::graph_of(stream, per_thread);
  if (graph != nullptr) {
    add_node(call, graph, call.place_of(Kind::graph), *dptr, bytes);
    return code;
  }
  const bool is_given = pool == Pool::given;
  call.adopt(is_given ? pool_place(call, *dptr) : call.place_of(Kind::stream_ordered), *dptr,
             bytes);
  return code;
}

// Nodes say themselves on which device their memory is.
template <class Parameters>
void record_node(Call& call, CUgraph graph, const Parameters& node) {
  Place where = call.place_of(Kind::graph);
  const CUmemLocation& location = node.poolProps.location;
  if (location.type == CU_MEM_LOCATION_TYPE_DEVICE) {
    where.device = static_cast<std::uint16_t>(location.id);
  }
  add_node(call, graph, where, node.dptr, node.bytesize);
}

auto forgetter(Call& call) {
  return [&allocator = call.profiler().allocator()](Address address) {
    (void)allocator.forget(Kind::graph, address, CachingAllocator::kAnySerial);
  };
}

template <class Handle>
CUresult destroy(Call& call, const DirectCall& direct, Handle handle) {
  GraphMemory& memory = call.profiler().graph_memory();
  const GraphMemory::Number number = memory.number_of(handle);
  const Graphs::Number newest = call.profiler().graphs().newest();
  const CUresult code = direct();
  if (code != CUDA_SUCCESS) return code;
  if (number != GraphMemory::none) memory.ended(handle, number, forgetter(call));
  call.profiler().graphs().ended(handle, newest);
  return code;
}

CUresult instantiate(Call& call, const DirectCall& direct, CUgraphExec* executable, CUgraph graph) {
  const CUresult code = direct();
  if (code != CUDA_SUCCESS) return code;
  call.profiler().graph_memory().instantiated(*executable, graph);
  CUcontext context = nullptr;
  real().cuCtxGetCurrent(&context);
  call.profiler().graphs().began(*executable, context);
  return code;
}

}  // namespace

CUresult cuMemAllocAsync(Call& call, const DirectCall& direct, CUdeviceptr* dptr,
                         std::size_t bytesize, CUstream hStream) noexcept {
  return allocate_in_order(call, direct, dptr, bytesize, hStream, false, Pool::of_stream);
}
CUresult cuMemAllocAsync_ptsz(Call& call, const DirectCall& direct, CUdeviceptr* dptr,
                              std::size_t bytesize, CUstream hStream) noexcept {
  return allocate_in_order(call, direct, dptr, bytesize, hStream, true, Pool::of_stream);
}
CUresult cuMemAllocFromPoolAsync(Call& call, const DirectCall& direct, CUdeviceptr* dptr,
                                 std::size_t bytesize, CUmemoryPool, CUstream hStream) noexcept {
  return allocate_in_order(call, direct, dptr, bytesize, hStream, false, Pool::given);
}
CUresult cuMemAllocFromPoolAsync_ptsz(Call& call, const DirectCall& direct, CUdeviceptr* dptr,
                                      std::size_t bytesize, CUmemoryPool,
                                      CUstream hStream) noexcept {
  return allocate_in_order(call, direct, dptr, bytesize, hStream, true, Pool::given);
}

CUresult cuGraphAddMemAllocNode(Call& call, const DirectCall& direct, CUgraphNode*, CUgraph hGraph,
                                const CUgraphNode*, std::size_t,
                                CUDA_MEM_ALLOC_NODE_PARAMS* nodeParams) noexcept {
  const CUresult code = direct();
  if (code == CUDA_SUCCESS) record_node(call, hGraph, *nodeParams);
  return code;
}

#if CUDA_VERSION >= 12020
CUresult cuGraphAddNode(Call& call, const DirectCall& direct, CUgraphNode*, CUgraph hGraph,
                        const CUgraphNode*, std::size_t, CUgraphNodeParams* nodeParams) noexcept {
  const CUresult code = direct();
  const bool allocates = code == CUDA_SUCCESS && nodeParams->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC;
  if (allocates) record_node(call, hGraph, nodeParams->alloc);
  return code;
}
#endif
#if CUDA_VERSION >= 12030
CUresult cuGraphAddNode_v2(Call& call, const DirectCall& direct, CUgraphNode* phGraphNode,
                           CUgraph hGraph, const CUgraphNode* dependencies, const CUgraphEdgeData*,
                           std::size_t numDependencies, CUgraphNodeParams* nodeParams) noexcept {
  return cuGraphAddNode(call, direct, phGraphNode, hGraph, dependencies, numDependencies,
                        nodeParams);
}
#endif

CUresult cuGraphInstantiate(Call& call, const DirectCall& direct, CUgraphExec* phGraphExec,
                            CUgraph hGraph, CUgraphNode*, char*, std::size_t) noexcept {
  return instantiate(call, direct, phGraphExec, hGraph);
}
CUresult cuGraphInstantiate_v2(Call& call, const DirectCall& direct, CUgraphExec* phGraphExec,
                               CUgraph hGraph, CUgraphNode*, char*, std::size_t) noexcept {
  return instantiate(call, direct, phGraphExec, hGraph);
}
CUresult cuGraphInstantiateWithFlags(Call& call, const DirectCall& direct, CUgraphExec* phGraphExec,
                                     CUgraph hGraph, unsigned long long) noexcept {
  return instantiate(call, direct, phGraphExec, hGraph);
}
#if CUDA_VERSION >= 12000
CUresult cuGraphInstantiateWithParams(Call& call, const DirectCall& direct,
                                      CUgraphExec* phGraphExec, CUgraph hGraph,
                                      CUDA_GRAPH_INSTANTIATE_PARAMS*) noexcept {
  return instantiate(call, direct, phGraphExec, hGraph);
}
CUresult cuGraphInstantiateWithParams_ptsz(Call& call, const DirectCall& direct,
                                           CUgraphExec* phGraphExec, CUgraph hGraph,
                                           CUDA_GRAPH_INSTANTIATE_PARAMS*) noexcept {
  return instantiate(call, direct, phGraphExec, hGraph);
}
#endif

CUresult cuGraphClone(Call& call, const DirectCall& direct, CUgraph* phGraphClone,
                      CUgraph) noexcept {
  const CUresult code = direct();
  if (code == CUDA_SUCCESS) call.profiler().graphs().began(*phGraphClone);
  return code;
}

CUresult cuGraphExecDestroy(Call& call, const DirectCall& direct, CUgraphExec hGraphExec) noexcept {
  return destroy(call, direct, hGraphExec);
}
CUresult cuGraphDestroy(Call& call, const DirectCall& direct, CUgraph hGraph) noexcept {
  return destroy(call, direct, hGraph);
}

}  // namespace vramscope::routes
