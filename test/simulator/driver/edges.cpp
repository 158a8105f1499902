// SPDX-License-Identifier: Apache-2.0
#include "test/simulator/driver/edges.h"

#include <utility>

namespace vramscope::simulator {

namespace {

constexpr int kFirstWithProgrammatic = 9;  // of major compute capabilities

bool is_edge(CUgraphNode from, CUgraphNode to) {
  return std::ranges::find(to->after, from) != to->after.end();
}

// All or none: `wanted` says whether the edges must be there already.
CUresult check_edges(CUgraph_st& graph, const CUgraphNode* from, const CUgraphNode* to,
                     std::size_t count, bool wanted) {
  if (count != 0 && (from == nullptr || to == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  for (std::size_t i = 0; i < count; ++i) {
    if (!are_nodes_of(graph, from + i, 1) || !are_nodes_of(graph, to + i, 1) || from[i] == to[i]) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (is_edge(from[i], to[i]) != wanted) return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

void cut(CUgraphNode from, CUgraphNode to) {
  std::erase(to->after, from);
  std::erase(from->before, to);
  to->carried.erase(from);
}

using Edges = std::vector<std::pair<CUgraphNode, CUgraphNode>>;

CUgraphEdgeData carried(CUgraphNode from, CUgraphNode to) {
  const auto found = to->carried.find(from);
  return found == to->carried.end() ? CUgraphEdgeData{} : found->second;
}

// What they carry cannot be told without room for it (cuda.h).
CUresult list_carried(const Edges& there, CUgraphEdgeData* into, std::size_t room) {
  for (std::size_t i = 0; i < std::min(room, there.size()); ++i) {
    const CUgraphEdgeData told = carried(there[i].first, there[i].second);
    if (into == nullptr && !is_plain(&told, 1)) return CUDA_ERROR_LOSSY_QUERY;
    if (into != nullptr) into[i] = told;
  }
  for (std::size_t i = there.size(); into != nullptr && i < room; ++i) into[i] = {};
  return CUDA_SUCCESS;
}

Edges edges_of(const CUgraph_st& graph) {
  Edges there;
  for (const auto& node : graph.nodes) {
    for (CUgraphNode later : node->before) there.emplace_back(node.get(), later);
  }
  return there;
}

// The nodes before a node, or those after it, and what the edges between them carry.
CUresult list_neighbours(CUgraphNode handle, bool earlier, CUgraphNode* nodes,
                         CUgraphEdgeData* edges, std::size_t* count) {
  const auto node = graph_nodes().find(handle);
  if (!node || count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const std::vector<CUgraphNode>& neighbours = earlier ? node->after : node->before;
  Edges there;
  for (CUgraphNode other : neighbours)
    there.emplace_back(earlier ? other : handle, earlier ? handle : other);
  const std::size_t room = nodes == nullptr ? 0 : *count;
  const CUresult no = list_carried(there, edges, room);
  return no == CUDA_SUCCESS ? list_nodes(neighbours, nodes, count) : no;
}

}  // namespace

CUresult check_carried(const CUgraphNode* from, const CUgraphEdgeData* edges, std::size_t count,
                       CUgraphNodeType to) {
  for (std::size_t i = 0; i < count; ++i) {
    if (is_plain(edges == nullptr ? nullptr : edges + i, 1)) continue;
    if (configuration().model.major < kFirstWithProgrammatic) return CUDA_ERROR_NOT_SUPPORTED;
    const auto node = graph_nodes().find(from[i]);
    const bool are_kernels = node && to == CU_GRAPH_NODE_TYPE_KERNEL &&
                             node->content.parameters.type == CU_GRAPH_NODE_TYPE_KERNEL;
    const bool is_known = edges[i].type == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC &&
                          edges[i].from_port <= CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER &&
                          edges[i].to_port == 0;
    if (!are_kernels || !is_known) return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

void carry(CUgraphNode to, const CUgraphNode* from, const CUgraphEdgeData* edges,
           std::size_t count) {
  for (std::size_t i = 0; edges != nullptr && i < count; ++i) {
    if (!is_plain(edges + i, 1)) to->carried[from[i]] = edges[i];
  }
}

namespace body {

CUresult cuGraphGetEdges_v2(CUgraph handle, CUgraphNode* from, CUgraphNode* to,
                            CUgraphEdgeData* edges, std::size_t* count) {
  const auto graph = graphs().find(handle);
  if (!graph || count == nullptr || (from == nullptr) != (to == nullptr))
    return CUDA_ERROR_INVALID_VALUE;
  const Edges there = edges_of(*graph);
  const std::size_t room = from == nullptr ? 0 : *count;
  if (const CUresult no = list_carried(there, edges, room); no != CUDA_SUCCESS) return no;
  return list(there.size(), count, from != nullptr, [&](std::size_t i, bool filled) {
    from[i] = filled ? there[i].first : nullptr;
    to[i] = filled ? there[i].second : nullptr;
  });
}

CUresult cuGraphGetEdges(CUgraph graph, CUgraphNode* from, CUgraphNode* to, std::size_t* count) {
  return body::cuGraphGetEdges_v2(graph, from, to, nullptr, count);
}

CUresult cuGraphNodeGetDependencies_v2(CUgraphNode handle, CUgraphNode* nodes,
                                       CUgraphEdgeData* edges, std::size_t* count) {
  return list_neighbours(handle, true, nodes, edges, count);
}

CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode* nodes, std::size_t* count) {
  return body::cuGraphNodeGetDependencies_v2(node, nodes, nullptr, count);
}

CUresult cuGraphNodeGetDependentNodes_v2(CUgraphNode handle, CUgraphNode* nodes,
                                         CUgraphEdgeData* edges, std::size_t* count) {
  return list_neighbours(handle, false, nodes, edges, count);
}

CUresult cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode* nodes, std::size_t* count) {
  return body::cuGraphNodeGetDependentNodes_v2(node, nodes, nullptr, count);
}

CUresult cuGraphAddDependencies(CUgraph handle, const CUgraphNode* from, const CUgraphNode* to,
                                std::size_t count) {
  const auto graph = graphs().find(handle);
  if (!graph) return CUDA_ERROR_INVALID_VALUE;
  const CUresult result = check_edges(*graph, from, to, count, false);
  if (result != CUDA_SUCCESS) return result;
  for (std::size_t i = 0; i < count; ++i) {
    to[i]->after.push_back(from[i]);
    from[i]->before.push_back(to[i]);
  }
  return CUDA_SUCCESS;
}

CUresult cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                   const CUgraphEdgeData* edges, std::size_t count) {
  for (std::size_t i = 0; edges != nullptr && to != nullptr && i < count; ++i) {
    const auto later = graph_nodes().find(to[i]);
    if (!later || from == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const CUgraphNodeType type = later->content.parameters.type;
    if (const CUresult no = check_carried(from + i, edges + i, 1, type); no != CUDA_SUCCESS)
      return no;
  }
  const CUresult result = body::cuGraphAddDependencies(graph, from, to, count);
  for (std::size_t i = 0; result == CUDA_SUCCESS && edges != nullptr && i < count; ++i)
    carry(to[i], from + i, edges + i, 1);
  return result;
}

CUresult cuGraphRemoveDependencies(CUgraph handle, const CUgraphNode* from, const CUgraphNode* to,
                                   std::size_t count) {
  const auto graph = graphs().find(handle);
  if (!graph) return CUDA_ERROR_INVALID_VALUE;
  if (has_memory_nodes(*graph)) return CUDA_ERROR_NOT_SUPPORTED;
  const CUresult result = check_edges(*graph, from, to, count, true);
  if (result != CUDA_SUCCESS) return result;
  for (std::size_t i = 0; i < count; ++i) cut(from[i], to[i]);
  return CUDA_SUCCESS;
}

CUresult cuGraphRemoveDependencies_v2(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                      const CUgraphEdgeData* edges, std::size_t count) {
  for (std::size_t i = 0; edges != nullptr && from != nullptr && to != nullptr && i < count; ++i) {
    if (!graph_nodes().find(to[i])) return CUDA_ERROR_INVALID_VALUE;
    const CUgraphEdgeData told = carried(from[i], to[i]);
    if (told.type != edges[i].type || told.from_port != edges[i].from_port)
      return CUDA_ERROR_INVALID_VALUE;
  }
  return body::cuGraphRemoveDependencies(graph, from, to, count);
}

}  // namespace body

}  // namespace vramscope::simulator
