// Nodes of graphs as programs see them: every type is the vendor's general parameters.
// SPDX-License-Identifier: Apache-2.0
#include "test/simulator/driver/driver.h"
#include "test/simulator/driver/edges.h"

namespace vramscope::simulator {

namespace {

// Where a new node goes.
struct Spot {
  CUgraphNode* node;
  CUgraph graph;
  const CUgraphNode* after;
  std::size_t count;
};

CUresult add(const Spot& spot, CUgraphNodeParams& parameters) {
  const auto graph = graphs().find(spot.graph);
  if (!graph || spot.node == nullptr || !are_nodes_of(*graph, spot.after, spot.count)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  NodeContent content{.parameters = parameters};
  const CUresult result = make_content(content, spot.graph);
  if (result != CUDA_SUCCESS) return result;
  parameters = content.parameters;
  *spot.node = add_node(*graph, std::move(content), {spot.after, spot.after + spot.count});
  return CUDA_SUCCESS;
}

CUgraphNodeParams of_kernel(const CUDA_KERNEL_NODE_PARAMS_v2& told) {
  CUgraphNodeParams node = parameters_for(CU_GRAPH_NODE_TYPE_KERNEL);
  node.kernel = {told.func,         told.gridDimX,  told.gridDimY,  told.gridDimZ,
                 told.blockDimX,    told.blockDimY, told.blockDimZ, told.sharedMemBytes,
                 told.kernelParams, told.extra,     told.kern,      told.ctx};
  return node;
}

CUgraphNodeParams of_kernel(const CUDA_KERNEL_NODE_PARAMS_v1& told) {
  return of_kernel(CUDA_KERNEL_NODE_PARAMS_v2{
      told.func, told.gridDimX, told.gridDimY, told.gridDimZ, told.blockDimX, told.blockDimY,
      told.blockDimZ, told.sharedMemBytes, told.kernelParams, told.extra, nullptr, nullptr});
}

CUgraphNodeParams of_copy(const CUDA_MEMCPY3D& told, CUcontext context = nullptr) {
  CUgraphNodeParams node = parameters_for(CU_GRAPH_NODE_TYPE_MEMCPY);
  node.memcpy.copyCtx = context;
  node.memcpy.copyParams = told;
  return node;
}

CUgraphNodeParams of_fill(const CUDA_MEMSET_NODE_PARAMS& told, CUcontext context = nullptr) {
  CUgraphNodeParams node = parameters_for(CU_GRAPH_NODE_TYPE_MEMSET);
  node.memset = {told.dst,   told.pitch,  told.value, told.elementSize,
                 told.width, told.height, context};
  return node;
}

CUgraphNodeParams of_host(const CUDA_HOST_NODE_PARAMS& told) {
  CUgraphNodeParams node = parameters_for(CU_GRAPH_NODE_TYPE_HOST);
  node.host = {told.fn, told.userData};
  return node;
}

CUgraphNodeParams of_event(CUgraphNodeType type, CUevent event) {
  CUgraphNodeParams node = parameters_for(type);
  node.eventRecord.event = event;  // the wait's parameters have the same form
  return node;
}

template <class Told>
CUresult add_told(const Spot& spot, const Told* told, CUgraphNodeParams (*of)(const Told&)) {
  if (told == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUgraphNodeParams parameters = of(*told);
  return add(spot, parameters);
}

// The parameters of a node of that type, or null.
const CUgraphNodeParams* look(CUgraphNode handle, CUgraphNodeType type) {
  const auto node = graph_nodes().find(handle);
  return node && node->content.parameters.type == type ? &node->content.parameters : nullptr;
}

// Memory and child nodes keep what they were made with.
CUresult set(CUgraphNode_st* node, const CUgraphNodeParams& parameters) {
  if (node == nullptr || node->content.parameters.type != parameters.type) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (node->content.is_memory() || node->content.child) return CUDA_ERROR_INVALID_VALUE;
  NodeContent content{.parameters = parameters};
  const CUresult result = make_content(content, node->graph);
  if (result == CUDA_SUCCESS) node->content = std::move(content);
  return result;
}

CUresult set_in(CUgraphNode handle, const CUgraphNodeParams& parameters) {
  return set(graph_nodes().find(handle).get(), parameters);
}

// The executable's own copy of a node.
CUgraphNode_st* find_in(CUgraphExec handle, CUgraphNode original) {
  const auto executable = executable_graphs().find(handle);
  CUgraphNode_st* found = nullptr;
  if (executable) {
    for_each_node(*executable->graph, [&](CUgraphNode_st& node) {
      if (node.original == original) found = &node;
    });
  }
  return found;
}

CUresult set_in(CUgraphExec executable, CUgraphNode node, const CUgraphNodeParams& parameters) {
  return set(find_in(executable, node), parameters);
}

// What a node of that type is told to do, in the terms of one of its functions.
template <class Told, class Terms>
CUresult describe(CUgraphNode node, CUgraphNodeType type, Told* told, Terms terms) {
  const CUgraphNodeParams* parameters = look(node, type);
  if (parameters == nullptr || told == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *told = terms(*parameters);
  return CUDA_SUCCESS;
}

}  // namespace

namespace body {

CUresult cuGraphAddNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after,
                        std::size_t count, CUgraphNodeParams* parameters) {
  if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return add({node, graph, after, count}, *parameters);
}

CUresult cuGraphAddNode_v2(CUgraphNode* node, CUgraph graph, const CUgraphNode* after,
                           const CUgraphEdgeData* edges, std::size_t count,
                           CUgraphNodeParams* parameters) {
  if (parameters == nullptr || (after == nullptr && count != 0)) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = check_carried(after, edges, count, parameters->type);
  if (result == CUDA_SUCCESS) result = body::cuGraphAddNode(node, graph, after, count, parameters);
  if (result == CUDA_SUCCESS) carry(*node, after, edges, count);
  return result;
}

CUresult cuGraphAddEmptyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after,
                             std::size_t count) {
  CUgraphNodeParams parameters = parameters_for(CU_GRAPH_NODE_TYPE_EMPTY);
  return add({node, graph, after, count}, parameters);
}

CUresult cuGraphAddKernelNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after,
                              std::size_t count, const CUDA_KERNEL_NODE_PARAMS_v1* told) {
  return add_told<CUDA_KERNEL_NODE_PARAMS_v1>({node, graph, after, count}, told, of_kernel);
}

CUresult cuGraphAddKernelNode_v2(CUgraphNode* node, CUgraph graph, const CUgraphNode* after,
                                 std::size_t count, const CUDA_KERNEL_NODE_PARAMS_v2* told) {
  return add_told<CUDA_KERNEL_NODE_PARAMS_v2>({node, graph, after, count}, told, of_kernel);
}

CUresult cuGraphAddMemcpyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after,
                              std::size_t count, const CUDA_MEMCPY3D* told, CUcontext context) {
  if (told == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUgraphNodeParams parameters = of_copy(*told, context);
  return add({node, graph, after, count}, parameters);
}

CUresult cuGraphAddMemsetNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after,
                              std::size_t count, const CUDA_MEMSET_NODE_PARAMS* told,
                              CUcontext context) {
  if (told == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUgraphNodeParams parameters = of_fill(*told, context);
  return add({node, graph, after, count}, parameters);
}

CUresult cuGraphAddHostNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after,
                            std::size_t count, const CUDA_HOST_NODE_PARAMS* told) {
  return add_told<CUDA_HOST_NODE_PARAMS>({node, graph, after, count}, told, of_host);
}

CUresult cuGraphAddChildGraphNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after,
                                  std::size_t count, CUgraph child) {
  CUgraphNodeParams parameters = parameters_for(CU_GRAPH_NODE_TYPE_GRAPH);
  parameters.graph.graph = child;
  return add({node, graph, after, count}, parameters);
}

CUresult cuGraphAddEventRecordNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after,
                                   std::size_t count, CUevent event) {
  CUgraphNodeParams parameters = of_event(CU_GRAPH_NODE_TYPE_EVENT_RECORD, event);
  return add({node, graph, after, count}, parameters);
}

CUresult cuGraphAddEventWaitNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after,
                                 std::size_t count, CUevent event) {
  CUgraphNodeParams parameters = of_event(CU_GRAPH_NODE_TYPE_WAIT_EVENT, event);
  return add({node, graph, after, count}, parameters);
}

CUresult cuGraphAddMemAllocNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after,
                                std::size_t count, CUDA_MEM_ALLOC_NODE_PARAMS* told) {
  if (told == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUgraphNodeParams parameters = parameters_for(CU_GRAPH_NODE_TYPE_MEM_ALLOC);
  parameters.alloc = {told->poolProps, told->accessDescs, told->accessDescCount, told->bytesize, 0};
  const CUresult result = add({node, graph, after, count}, parameters);
  if (result == CUDA_SUCCESS) told->dptr = parameters.alloc.dptr;
  return result;
}

CUresult cuGraphAddMemFreeNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after,
                               std::size_t count, CUdeviceptr pointer) {
  CUgraphNodeParams parameters = parameters_for(CU_GRAPH_NODE_TYPE_MEM_FREE);
  parameters.free.dptr = pointer;
  return add({node, graph, after, count}, parameters);
}

CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v2* told) {
  return describe(node, CU_GRAPH_NODE_TYPE_KERNEL, told, [](const CUgraphNodeParams& p) {
    const CUDA_KERNEL_NODE_PARAMS_v3& k = p.kernel;
    return CUDA_KERNEL_NODE_PARAMS_v2{k.func,         k.gridDimX,  k.gridDimY,  k.gridDimZ,
                                      k.blockDimX,    k.blockDimY, k.blockDimZ, k.sharedMemBytes,
                                      k.kernelParams, k.extra,     k.kern,      k.ctx};
  });
}

CUresult cuGraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1* told) {
  return describe(node, CU_GRAPH_NODE_TYPE_KERNEL, told, [](const CUgraphNodeParams& p) {
    const CUDA_KERNEL_NODE_PARAMS_v3& k = p.kernel;
    return CUDA_KERNEL_NODE_PARAMS_v1{k.func,         k.gridDimX,  k.gridDimY,  k.gridDimZ,
                                      k.blockDimX,    k.blockDimY, k.blockDimZ, k.sharedMemBytes,
                                      k.kernelParams, k.extra};
  });
}

CUresult cuGraphMemcpyNodeGetParams(CUgraphNode node, CUDA_MEMCPY3D* told) {
  return describe(node, CU_GRAPH_NODE_TYPE_MEMCPY, told,
                  [](const CUgraphNodeParams& p) { return p.memcpy.copyParams; });
}

CUresult cuGraphMemsetNodeGetParams(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS* told) {
  return describe(node, CU_GRAPH_NODE_TYPE_MEMSET, told, [](const CUgraphNodeParams& p) {
    const CUDA_MEMSET_NODE_PARAMS_v2& m = p.memset;
    return CUDA_MEMSET_NODE_PARAMS{m.dst, m.pitch, m.value, m.elementSize, m.width, m.height};
  });
}

CUresult cuGraphHostNodeGetParams(CUgraphNode node, CUDA_HOST_NODE_PARAMS* told) {
  return describe(node, CU_GRAPH_NODE_TYPE_HOST, told, [](const CUgraphNodeParams& p) {
    return CUDA_HOST_NODE_PARAMS{p.host.fn, p.host.userData};
  });
}

CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph* graph) {
  return describe(node, CU_GRAPH_NODE_TYPE_GRAPH, graph,
                  [](const CUgraphNodeParams& p) { return p.graph.graph; });
}

CUresult cuGraphEventRecordNodeGetEvent(CUgraphNode node, CUevent* event) {
  return describe(node, CU_GRAPH_NODE_TYPE_EVENT_RECORD, event,
                  [](const CUgraphNodeParams& p) { return p.eventRecord.event; });
}

CUresult cuGraphEventWaitNodeGetEvent(CUgraphNode node, CUevent* event) {
  return describe(node, CU_GRAPH_NODE_TYPE_WAIT_EVENT, event,
                  [](const CUgraphNodeParams& p) { return p.eventWait.event; });
}

CUresult cuGraphMemAllocNodeGetParams(CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS* told) {
  return describe(node, CU_GRAPH_NODE_TYPE_MEM_ALLOC, told, [](const CUgraphNodeParams& p) {
    const CUDA_MEM_ALLOC_NODE_PARAMS_v2& a = p.alloc;
    return CUDA_MEM_ALLOC_NODE_PARAMS{a.poolProps, a.accessDescs, a.accessDescCount, a.bytesize,
                                      a.dptr};
  });
}

CUresult cuGraphMemFreeNodeGetParams(CUgraphNode node, CUdeviceptr* pointer) {
  return describe(node, CU_GRAPH_NODE_TYPE_MEM_FREE, pointer,
                  [](const CUgraphNodeParams& p) { return p.free.dptr; });
}

CUresult cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams* told) {
  return told == nullptr ? CUDA_ERROR_INVALID_VALUE : set_in(node, *told);
}
CUresult cuGraphExecNodeSetParams(CUgraphExec executable, CUgraphNode node,
                                  CUgraphNodeParams* told) {
  return told == nullptr ? CUDA_ERROR_INVALID_VALUE : set_in(executable, node, *told);
}

#define SET_PARAMETERS(name, Told, of)                                                       \
  CUresult cuGraph##name(CUgraphNode node, const Told* told) {                               \
    return told == nullptr ? CUDA_ERROR_INVALID_VALUE : set_in(node, of(*told));             \
  }                                                                                          \
  CUresult cuGraphExec##name(CUgraphExec executable, CUgraphNode node,                       \
                             const Told* told SET_CONTEXT) {                                 \
    return told == nullptr ? CUDA_ERROR_INVALID_VALUE : set_in(executable, node, of(*told)); \
  }
#define SET_CONTEXT
SET_PARAMETERS(KernelNodeSetParams, CUDA_KERNEL_NODE_PARAMS_v1, of_kernel)
SET_PARAMETERS(KernelNodeSetParams_v2, CUDA_KERNEL_NODE_PARAMS_v2, of_kernel)
SET_PARAMETERS(HostNodeSetParams, CUDA_HOST_NODE_PARAMS, of_host)
#undef SET_CONTEXT
#define SET_CONTEXT , CUcontext
SET_PARAMETERS(MemcpyNodeSetParams, CUDA_MEMCPY3D, of_copy)
SET_PARAMETERS(MemsetNodeSetParams, CUDA_MEMSET_NODE_PARAMS, of_fill)
#undef SET_CONTEXT

#define SET_EVENT(name, type)                                                           \
  CUresult cuGraph##name(CUgraphNode node, CUevent event) {                             \
    return set_in(node, of_event(type, event));                                         \
  }                                                                                     \
  CUresult cuGraphExec##name(CUgraphExec executable, CUgraphNode node, CUevent event) { \
    return set_in(executable, node, of_event(type, event));                             \
  }
SET_EVENT(EventRecordNodeSetEvent, CU_GRAPH_NODE_TYPE_EVENT_RECORD)
SET_EVENT(EventWaitNodeSetEvent, CU_GRAPH_NODE_TYPE_WAIT_EVENT)

// Attributes change nothing that a simulated kernel would do.
CUresult cuGraphKernelNodeCopyAttributes(CUgraphNode to, CUgraphNode from) {
  return look(to, CU_GRAPH_NODE_TYPE_KERNEL) && look(from, CU_GRAPH_NODE_TYPE_KERNEL)
             ? CUDA_SUCCESS
             : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuGraphKernelNodeGetAttribute(CUgraphNode node, CUkernelNodeAttrID,
                                       CUkernelNodeAttrValue* value) {
  if (!look(node, CU_GRAPH_NODE_TYPE_KERNEL) || value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *value = {};
  return CUDA_SUCCESS;
}
CUresult cuGraphKernelNodeSetAttribute(CUgraphNode node, CUkernelNodeAttrID,
                                       const CUkernelNodeAttrValue* value) {
  return look(node, CU_GRAPH_NODE_TYPE_KERNEL) && value != nullptr ? CUDA_SUCCESS
                                                                   : CUDA_ERROR_INVALID_VALUE;
}

// Kernels, copies and sets only (cuda.h).
CUresult cuGraphNodeGetEnabled(CUgraphExec executable, CUgraphNode node, unsigned* enabled) {
  const CUgraphNode_st* found = find_in(executable, node);
  if (found == nullptr || enabled == nullptr ||
      found->content.parameters.type > CU_GRAPH_NODE_TYPE_MEMSET) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *enabled = found->enabled ? 1 : 0;
  return CUDA_SUCCESS;
}
CUresult cuGraphNodeSetEnabled(CUgraphExec executable, CUgraphNode node, unsigned enabled) {
  CUgraphNode_st* found = find_in(executable, node);
  if (found == nullptr || found->content.parameters.type > CU_GRAPH_NODE_TYPE_MEMSET) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  found->enabled = enabled != 0;
  return CUDA_SUCCESS;
}

}  // namespace body

}  // namespace vramscope::simulator
