// The small runtime: what the driver has under the same parameters, of nodes of graphs.
// SPDX-License-Identifier: Apache-2.0
#include "test/simulator/runtime/runtime.h"

namespace cudart::runtime {

// Attributes are the driver's under other names (driver_types.h).
cudaError_t cudaGraphKernelNodeGetAttribute(cudaGraphNode_t node, cudaLaunchAttributeID name,
                                            cudaLaunchAttributeValue* value) {
  static_assert(sizeof(CUkernelNodeAttrValue) == sizeof(cudaLaunchAttributeValue));
  return error_of(
      the_driver().cuGraphKernelNodeGetAttribute(node, static_cast<CUkernelNodeAttrID>(name),
                                                 reinterpret_cast<CUkernelNodeAttrValue*>(value)));
}

cudaError_t cudaGraphKernelNodeSetAttribute(cudaGraphNode_t node, cudaLaunchAttributeID name,
                                            const cudaLaunchAttributeValue* value) {
  return error_of(the_driver().cuGraphKernelNodeSetAttribute(
      node, static_cast<CUkernelNodeAttrID>(name),
      reinterpret_cast<const CUkernelNodeAttrValue*>(value)));
}

cudaError_t cudaGraphKernelNodeCopyAttributes(cudaGraphNode_t to, cudaGraphNode_t from) {
  return error_of(the_driver().cuGraphKernelNodeCopyAttributes(to, from));
}

cudaError_t cudaGraphAddEventRecordNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                        const cudaGraphNode_t* after, std::size_t count,
                                        cudaEvent_t event) {
  return error_of(the_driver().cuGraphAddEventRecordNode(node, graph, after, count, event));
}

cudaError_t cudaGraphAddEventWaitNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                      const cudaGraphNode_t* after, std::size_t count,
                                      cudaEvent_t event) {
  return error_of(the_driver().cuGraphAddEventWaitNode(node, graph, after, count, event));
}

#define EVENT(kind)                                                                              \
  cudaError_t cudaGraphEvent##kind##NodeGetEvent(cudaGraphNode_t node, cudaEvent_t* event) {     \
    return error_of(the_driver().cuGraphEvent##kind##NodeGetEvent(node, event));                 \
  }                                                                                              \
  cudaError_t cudaGraphEvent##kind##NodeSetEvent(cudaGraphNode_t node, cudaEvent_t event) {      \
    return error_of(the_driver().cuGraphEvent##kind##NodeSetEvent(node, event));                 \
  }                                                                                              \
  cudaError_t cudaGraphExecEvent##kind##NodeSetEvent(cudaGraphExec_t executable,                 \
                                                     cudaGraphNode_t node, cudaEvent_t event) {  \
    return error_of(the_driver().cuGraphExecEvent##kind##NodeSetEvent(executable, node, event)); \
  }
EVENT(Record)
EVENT(Wait)
#undef EVENT

cudaError_t cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t node, cudaGraph_t* graph) {
  return error_of(the_driver().cuGraphChildGraphNodeGetGraph(node, graph));
}

cudaError_t cudaGraphExecChildGraphNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                                 cudaGraph_t child) {
  return error_of(the_driver().cuGraphExecChildGraphNodeSetParams(executable, node, child));
}

cudaError_t cudaGraphNodeFindInClone(cudaGraphNode_t* found, cudaGraphNode_t node,
                                     cudaGraph_t clone) {
  return error_of(the_driver().cuGraphNodeFindInClone(found, node, clone));
}

cudaError_t cudaGraphNodeGetEnabled(cudaGraphExec_t executable, cudaGraphNode_t node,
                                    unsigned* enabled) {
  return error_of(the_driver().cuGraphNodeGetEnabled(executable, node, enabled));
}

cudaError_t cudaGraphNodeSetEnabled(cudaGraphExec_t executable, cudaGraphNode_t node,
                                    unsigned enabled) {
  return error_of(the_driver().cuGraphNodeSetEnabled(executable, node, enabled));
}

cudaError_t cudaGraphExecGetFlags(cudaGraphExec_t executable, unsigned long long* flags) {
  static_assert(sizeof(cuuint64_t) == sizeof *flags);
  return call_newer(&DriverFunctions::cuGraphExecGetFlags, executable,
                    reinterpret_cast<cuuint64_t*>(flags));
}

cudaError_t cudaUserObjectCreate(cudaUserObject_t* object, void* pointer, cudaHostFn_t destroy,
                                 unsigned count, unsigned flags) {
  return error_of(the_driver().cuUserObjectCreate(object, pointer, destroy, count, flags));
}

cudaError_t cudaUserObjectRetain(cudaUserObject_t object, unsigned count) {
  return error_of(the_driver().cuUserObjectRetain(object, count));
}

cudaError_t cudaUserObjectRelease(cudaUserObject_t object, unsigned count) {
  return error_of(the_driver().cuUserObjectRelease(object, count));
}

cudaError_t cudaGraphRetainUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned count,
                                      unsigned flags) {
  return error_of(the_driver().cuGraphRetainUserObject(graph, object, count, flags));
}

cudaError_t cudaGraphReleaseUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned count) {
  return error_of(the_driver().cuGraphReleaseUserObject(graph, object, count));
}

}  // namespace cudart::runtime
