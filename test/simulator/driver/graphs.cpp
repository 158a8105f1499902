// Graphs as programs see them: creation, copies, nodes and edges, user objects.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "test/simulator/driver/driver.h"
#include "test/simulator/driver/edges.h"

// Dies with the last reference, of the program or of a graph.
struct CUuserObject_st {
  CUuserObject_st(void* pointer, CUhostFn destroy) : pointer(pointer), destroy(destroy) {}
  CUuserObject_st(const CUuserObject_st&) = delete;
  CUuserObject_st& operator=(const CUuserObject_st&) = delete;
  ~CUuserObject_st() { destroy(pointer); }

  void* const pointer;
  const CUhostFn destroy;
  std::atomic<std::int64_t> references{0};  // the program's
};

namespace vramscope::simulator {

namespace {

Handles<CUuserObject_st>& user_objects() {
  static auto& all = *new Handles<CUuserObject_st>;
  return all;
}

}  // namespace

namespace body {

CUresult cuGraphCreate(CUgraph* graph, unsigned flags) {
  if (graph == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  *graph = graphs().add(std::make_shared<CUgraph_st>());
  return CUDA_SUCCESS;
}

CUresult cuGraphDestroy(CUgraph handle) {
  if (const CUresult refusal = refuse_in_capture(); refusal != CUDA_SUCCESS) return refusal;
  const auto graph = graphs().find(handle);
  if (!graph || graph->is_child || graph->capturing) return CUDA_ERROR_INVALID_VALUE;
  graphs().remove(handle);
  return CUDA_SUCCESS;
}

CUresult cuGraphClone(CUgraph* clone, CUgraph original) {
  const auto graph = graphs().find(original);
  if (!graph || clone == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (has_memory_nodes(*graph)) return CUDA_ERROR_NOT_SUPPORTED;
  auto made = copy_of(*graph);
  made->cloned_from = original;
  *clone = graphs().add(std::move(made));
  return CUDA_SUCCESS;
}

CUresult cuGraphNodeFindInClone(CUgraphNode* node, CUgraphNode original, CUgraph clone) {
  const auto graph = graphs().find(clone);
  if (!graph || node == nullptr || graph->cloned_from == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto found = std::ranges::find_if(
      graph->nodes, [original](const auto& candidate) { return candidate->original == original; });
  if (found == graph->nodes.end()) return CUDA_ERROR_INVALID_VALUE;
  *node = found->get();
  return CUDA_SUCCESS;
}

CUresult cuGraphDestroyNode(CUgraphNode handle) {
  const auto node = graph_nodes().find(handle);
  if (!node) return CUDA_ERROR_INVALID_VALUE;
  if (has_memory_nodes(*node->graph)) return CUDA_ERROR_NOT_SUPPORTED;
  for (CUgraphNode earlier : node->after) std::erase(earlier->before, handle);
  for (CUgraphNode later : node->before) {
    std::erase(later->after, handle);
    later->carried.erase(handle);
  }
  graph_nodes().remove(handle);
  if (node->content.child) graphs().remove(node->content.child.get());
  std::erase(node->graph->nodes, node);
  return CUDA_SUCCESS;
}

CUresult cuGraphGetNodes(CUgraph handle, CUgraphNode* nodes, std::size_t* count) {
  const auto graph = graphs().find(handle);
  if (!graph) return CUDA_ERROR_INVALID_VALUE;
  std::vector<CUgraphNode> there;
  for (const auto& node : graph->nodes) there.push_back(node.get());
  return list_nodes(there, nodes, count);
}

CUresult cuGraphGetRootNodes(CUgraph handle, CUgraphNode* nodes, std::size_t* count) {
  const auto graph = graphs().find(handle);
  if (!graph) return CUDA_ERROR_INVALID_VALUE;
  std::vector<CUgraphNode> there;
  for (const auto& node : graph->nodes) {
    if (node->after.empty()) there.push_back(node.get());
  }
  return list_nodes(there, nodes, count);
}

CUresult cuGraphNodeGetType(CUgraphNode handle, CUgraphNodeType* type) {
  const auto node = graph_nodes().find(handle);
  if (!node || type == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *type = node->content.parameters.type;
  return CUDA_SUCCESS;
}

CUresult cuUserObjectCreate(CUuserObject* object, void* pointer, CUhostFn destroy, unsigned count,
                            unsigned flags) {
  if (object == nullptr || destroy == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
  if (flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC) return CUDA_ERROR_INVALID_VALUE;
  auto made = std::make_shared<CUuserObject_st>(pointer, destroy);
  made->references = count;
  *object = user_objects().add(std::move(made));
  return CUDA_SUCCESS;
}

CUresult cuUserObjectRetain(CUuserObject handle, unsigned count) {
  const auto object = user_objects().find(handle);
  if (!object || count == 0) return CUDA_ERROR_INVALID_VALUE;
  object->references += count;
  return CUDA_SUCCESS;
}

CUresult cuUserObjectRelease(CUuserObject handle, unsigned count) {
  const auto object = user_objects().find(handle);
  if (!object || count == 0 || object->references < count) return CUDA_ERROR_INVALID_VALUE;
  if ((object->references -= count) == 0) user_objects().remove(handle);
  return CUDA_SUCCESS;
}

CUresult cuGraphRetainUserObject(CUgraph handle, CUuserObject object_handle, unsigned count,
                                 unsigned flags) {
  const auto graph = graphs().find(handle);
  const auto object = user_objects().find(object_handle);
  if (!graph || !object || count == 0 || flags > CU_GRAPH_USER_OBJECT_MOVE) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  graph->objects.insert(graph->objects.end(), count, object);
  if (flags == CU_GRAPH_USER_OBJECT_MOVE) return body::cuUserObjectRelease(object_handle, count);
  return CUDA_SUCCESS;
}

CUresult cuGraphReleaseUserObject(CUgraph handle, CUuserObject object, unsigned count) {
  const auto graph = graphs().find(handle);
  if (!graph || count == 0) return CUDA_ERROR_INVALID_VALUE;
  const auto same = [object](const auto& held) { return held.get() == object; };
  if (std::ranges::count_if(graph->objects, same) < count) return CUDA_ERROR_INVALID_VALUE;
  for (unsigned i = 0; i < count; ++i) {
    graph->objects.erase(std::ranges::find_if(graph->objects, same));
  }
  return CUDA_SUCCESS;
}

}  // namespace body

}  // namespace vramscope::simulator
