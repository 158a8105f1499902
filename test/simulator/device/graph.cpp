// Nodes, copies and order of graphs.
// SPDX-License-Identifier: Apache-2.0
#include "test/simulator/device/graph.h"

#include <algorithm>
#include <map>
#include <set>

CUgraph_st::~CUgraph_st() {
  for (const auto& node : nodes) {
    if (node->content.child) vramscope::simulator::graphs().remove(node->content.child.get());
    vramscope::simulator::graph_nodes().remove(node.get());
  }
}

namespace vramscope::simulator {

Handles<CUgraph_st>& graphs() {
  static auto& all = *new Handles<CUgraph_st>;
  return all;
}

Handles<CUgraphNode_st>& graph_nodes() {
  static auto& all = *new Handles<CUgraphNode_st>;
  return all;
}

Handles<CUgraphExec_st>& executable_graphs() {
  static auto& all = *new Handles<CUgraphExec_st>;
  return all;
}

CUgraphNode add_node(CUgraph_st& graph, NodeContent content,
                     const std::vector<CUgraphNode>& after) {
  auto node = std::make_shared<CUgraphNode_st>();
  node->graph = &graph;
  node->content = std::move(content);
  node->after = after;
  for (CUgraphNode earlier : after) earlier->before.push_back(node.get());
  graph.nodes.push_back(node);
  return graph_nodes().add(std::move(node));
}

bool are_nodes_of(const CUgraph_st& graph, const CUgraphNode* nodes, std::size_t count) {
  if (nodes == nullptr) return count == 0;
  std::set<CUgraphNode> seen;
  return std::all_of(nodes, nodes + count, [&](CUgraphNode handle) {
    const auto node = graph_nodes().find(handle);
    return node && node->graph == &graph && seen.insert(handle).second;
  });
}

bool is_plain(const CUgraphEdgeData* edges, std::size_t count) {
  return edges == nullptr || std::all_of(edges, edges + count, [](const CUgraphEdgeData& edge) {
           return edge.from_port == 0 && edge.to_port == 0 && edge.type == 0;
         });
}

void for_each_node(const CUgraph_st& graph, const std::function<void(CUgraphNode_st&)>& call) {
  for (const auto& node : graph.nodes) {
    call(*node);
    if (node->content.child) for_each_node(*node->content.child, call);
  }
}

bool has_memory_nodes(const CUgraph_st& graph) {
  bool found = false;
  for_each_node(graph, [&](const CUgraphNode_st& node) { found |= node.content.is_memory(); });
  return found;
}

std::shared_ptr<CUgraph_st> copy_of(const CUgraph_st& graph) {
  auto copy = std::make_shared<CUgraph_st>();
  std::map<CUgraphNode, CUgraphNode> twin;
  for (const auto& node : graph.nodes) {
    NodeContent content = node->content;
    if (content.child) {
      content.child = copy_of(*content.child);
      content.child->is_child = true;
      content.parameters.graph.graph = graphs().add(content.child);
    }
    CUgraphNode made = add_node(*copy, std::move(content), {});
    made->original = node.get();
    made->enabled = node->enabled;
    twin[node.get()] = made;
  }
  const auto twins = [&](const std::vector<CUgraphNode>& nodes) {
    std::vector<CUgraphNode> found;
    for (CUgraphNode node : nodes) found.push_back(twin.at(node));
    return found;
  };
  for (const auto& node : graph.nodes) {
    twin.at(node.get())->after = twins(node->after);
    twin.at(node.get())->before = twins(node->before);
    for (const auto& [from, edge] : node->carried)
      twin.at(node.get())->carried[twin.at(from)] = edge;
  }
  copy->objects = graph.objects;
  return copy;
}

std::vector<CUgraphNode> in_order(const CUgraph_st& graph) {
  std::map<CUgraphNode, std::size_t> waits_for;
  std::vector<CUgraphNode> order;
  for (const auto& node : graph.nodes) {
    waits_for[node.get()] = node->after.size();
    if (node->after.empty()) order.push_back(node.get());
  }
  for (std::size_t done = 0; done < order.size(); ++done) {
    for (CUgraphNode later : order[done]->before) {
      if (--waits_for.at(later) == 0) order.push_back(later);
    }
  }
  if (order.size() != graph.nodes.size()) order.clear();
  return order;
}

}  // namespace vramscope::simulator
