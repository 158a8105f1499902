// SPDX-License-Identifier: Apache-2.0
#include "interpose/routes/graph_nodes.h"

#include "interpose/loader/real.h"
#include "interpose/routes/routes.h"

namespace vramscope::routes {
void add_allocation_node(Call& call, CUgraph graph, Place where, CUdeviceptr address,
                         std::size_t bytes) noexcept {
  const Tag tag = call.describe(where, address, bytes);
  const GraphNodeMemory memory{.where = where, .address = address, .bytes = bytes, .tag = tag};
  if (!call.profiler().graph_memory().allocates(graph, memory)) call.count_unrecorded();
}

void add_free_node(Call& call, CUgraph graph, CUdeviceptr address) noexcept {
  if (!call.profiler().graph_memory().frees(graph, address)) call.count_unrecorded();
}

namespace {

// Nodes name the device of their memory.
template <class Parameters>
void record_node(Call& call, CUgraph graph, const Parameters& node) {
  Place where = call.place_of(Kind::graph);
  const CUmemLocation& location = node.poolProps.location;
  if (location.type == CU_MEM_LOCATION_TYPE_DEVICE) {
    where.device = static_cast<std::uint16_t>(location.id);
  }
  add_allocation_node(call, graph, where, node.dptr, node.bytesize);
}

template <class Handle>
CUresult destroy(Call& call, const DirectCall& direct, Handle handle) {
  GraphMemory& memory = call.profiler().graph_memory();
  const GraphMemory::Number number = memory.number_of(handle);
  const Graphs::Number newest = call.profiler().graphs().newest();
  const CUresult code = direct();
  if (code != CUDA_SUCCESS) return code;
  if (number != GraphMemory::none) memory.ended(handle, number);
  call.profiler().graphs().ended(handle, newest);
  return code;
}

// Returns the bytes that the driver has mapped for graphs on a device.
std::uint64_t mapped_on(std::uint16_t device) {
  cuuint64_t bytes = 0;
  const CUresult code =
      real().cuDeviceGetGraphMemAttribute(device, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &bytes);
  return code == CUDA_SUCCESS ? bytes : GraphMemory::unknown;
}

// The same for devices for which `sizes` is not zero; other devices are not asked.
GraphMemory::Bytes mapped_where(const GraphMemory::Bytes& sizes) {
  GraphMemory::Bytes mapped{};
  for (std::uint16_t device = 0; device < kMaxDevices; ++device) {
    mapped[device] = sizes[device] != 0 ? mapped_on(device) : GraphMemory::unknown;
  }
  return mapped;
}

enum class Uploads : bool { no, yes };

CUresult instantiate(Call& call, const DirectCall& direct, CUgraphExec* executable, CUgraph graph,
                     Uploads uploads = Uploads::no) {
  GraphMemory& memory = call.profiler().graph_memory();
  const bool takes = uploads == Uploads::yes && memory.any();
  GraphMemory::Bytes promised{};
  if (takes) promised = memory.needs(graph);
  const CUresult code = takes ? bounded_graph(call, direct, promised) : direct();
  if (code != CUDA_SUCCESS) return code;
  memory.instantiated(*executable, graph);
  if (takes) memory.uploaded(*executable, promised, mapped_where(memory.sizes(graph)));
  call.profiler().graphs().began(*executable);
  return code;
}

#if CUDA_VERSION >= 12000
Uploads uploads_by(const CUDA_GRAPH_INSTANTIATE_PARAMS* how) {
  const bool uploads = how != nullptr && (how->flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD) != 0;
  return uploads ? Uploads::yes : Uploads::no;
}
#endif

// A launch into a captured stream becomes a node and takes no memory.
template <class Taken>
CUresult take_memory(Call& call, const DirectCall& direct, CUgraphExec executable, CUstream stream,
                     bool per_thread, Taken taken) {
  Profiler& profiler = call.profiler();
  GraphMemory& memory = profiler.graph_memory();
  const bool is_node =
      profiler.captures().any() && Captures::graph_of(stream, per_thread) != nullptr;
  if (is_node) return direct();
  GraphMemory::Bytes promised{};
  if (memory.any()) promised = memory.needs(executable);
  const CUresult code = bounded_graph(call, direct, promised);
  if (code != CUDA_SUCCESS || !memory.any()) return code;
  const GraphMemory::Bytes sizes = memory.sizes(executable);
  const bool may_ask = !profiler.captures().any();
  (memory.*taken)(executable, promised, mapped_where(may_ask ? sizes : GraphMemory::Bytes{}));
  return code;
}

CUresult launch(Call& call, const DirectCall& direct, CUgraphExec executable, CUstream stream,
                bool per_thread) {
  return take_memory(call, direct, executable, stream, per_thread, &GraphMemory::launched);
}

CUresult upload(Call& call, const DirectCall& direct, CUgraphExec executable, CUstream stream,
                bool per_thread) {
  return take_memory(call, direct, executable, stream, per_thread, &GraphMemory::uploaded);
}

#if CUDA_VERSION >= 12020
// Records a node of any type.
void record_any_node(Call& call, CUgraph graph, const CUgraphNodeParams& node) {
  if (node.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC) record_node(call, graph, node.alloc);
  if (node.type == CU_GRAPH_NODE_TYPE_MEM_FREE) add_free_node(call, graph, node.free.dptr);
#if CUDA_VERSION >= 12090
  const bool moves = node.type == CU_GRAPH_NODE_TYPE_GRAPH &&
                     node.graph.ownership == CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE;
  if (moves) call.profiler().graph_memory().moved(node.graph.graph, graph);
#endif
}
#endif

}  // namespace

CUresult cuGraphAddMemAllocNode(Call& call, const DirectCall& direct, CUgraphNode*, CUgraph hGraph,
                                const CUgraphNode*, std::size_t,
                                CUDA_MEM_ALLOC_NODE_PARAMS* nodeParams) noexcept {
  const CUresult code = direct();
  if (code == CUDA_SUCCESS) record_node(call, hGraph, *nodeParams);
  return code;
}

CUresult cuGraphAddMemFreeNode(Call& call, const DirectCall& direct, CUgraphNode*, CUgraph hGraph,
                               const CUgraphNode*, std::size_t, CUdeviceptr dptr) noexcept {
  const CUresult code = direct();
  if (code == CUDA_SUCCESS) add_free_node(call, hGraph, dptr);
  return code;
}

#if CUDA_VERSION >= 12020
CUresult cuGraphAddNode(Call& call, const DirectCall& direct, CUgraphNode*, CUgraph hGraph,
                        const CUgraphNode*, std::size_t, CUgraphNodeParams* nodeParams) noexcept {
  const CUresult code = direct();
  if (code == CUDA_SUCCESS) record_any_node(call, hGraph, *nodeParams);
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
                                      CUDA_GRAPH_INSTANTIATE_PARAMS* how) noexcept {
  return instantiate(call, direct, phGraphExec, hGraph, uploads_by(how));
}
CUresult cuGraphInstantiateWithParams_ptsz(Call& call, const DirectCall& direct,
                                           CUgraphExec* phGraphExec, CUgraph hGraph,
                                           CUDA_GRAPH_INSTANTIATE_PARAMS* how) noexcept {
  return instantiate(call, direct, phGraphExec, hGraph, uploads_by(how));
}
#endif

CUresult cuGraphLaunch(Call& call, const DirectCall& direct, CUgraphExec hGraphExec,
                       CUstream hStream) noexcept {
  return launch(call, direct, hGraphExec, hStream, false);
}
CUresult cuGraphLaunch_ptsz(Call& call, const DirectCall& direct, CUgraphExec hGraphExec,
                            CUstream hStream) noexcept {
  return launch(call, direct, hGraphExec, hStream, true);
}
CUresult cuGraphUpload(Call& call, const DirectCall& direct, CUgraphExec hGraphExec,
                       CUstream hStream) noexcept {
  return upload(call, direct, hGraphExec, hStream, false);
}
CUresult cuGraphUpload_ptsz(Call& call, const DirectCall& direct, CUgraphExec hGraphExec,
                            CUstream hStream) noexcept {
  return upload(call, direct, hGraphExec, hStream, true);
}

CUresult cuDeviceGraphMemTrim(Call& call, const DirectCall& direct, CUdevice device) noexcept {
  const CUresult code = direct();
  GraphMemory& memory = call.profiler().graph_memory();
  if (code != CUDA_SUCCESS || !memory.any() || device >= CUdevice{kMaxDevices}) return code;
  const auto index = static_cast<std::uint16_t>(device);
  memory.trimmed(index, mapped_on(index));
  return code;
}

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
