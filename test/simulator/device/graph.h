// Graphs: nodes with parameters and dependencies, and the executables made from them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "test/simulator/device/engine.h"
#include "test/simulator/device/handles.h"
#include "test/simulator/device/vendor.h"

namespace vramscope::simulator {

struct GraphAllocation;  // graph_memory.h

[[nodiscard]] inline CUgraphNodeParams parameters_for(CUgraphNodeType type) {
  CUgraphNodeParams parameters = {};
  parameters.type = type;
  return parameters;
}

// The action of a node. NVIDIA's own parameters describe every type.
struct NodeContent {
  CUgraphNodeParams parameters = parameters_for(CU_GRAPH_NODE_TYPE_EMPTY);
  Engine::Work work = {};                        // copies, sets, host functions; null: nothing
  std::shared_ptr<CUgraph_st> child = {};        // child graph nodes only
  std::shared_ptr<GraphAllocation> memory = {};  // allocation and free nodes only

  [[nodiscard]] bool is_memory() const {
    return parameters.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC ||
           parameters.type == CU_GRAPH_NODE_TYPE_MEM_FREE;
  }
};

}  // namespace vramscope::simulator

struct CUgraphNode_st {
  CUgraph graph = nullptr;
  vramscope::simulator::NodeContent content;
  std::vector<CUgraphNode> after;  // the nodes on which it depends, in the order in which they were
                                   // given
  std::vector<CUgraphNode> before;
  std::map<CUgraphNode, CUgraphEdgeData> carried;  // by edges from `after` that are not plain
  CUgraphNode original = nullptr;                  // the node of which it is a copy
  bool enabled = true;                             // in an executable graph
};

struct CUgraph_st {
  CUgraph_st() = default;
  CUgraph_st(const CUgraph_st&) = delete;
  CUgraph_st& operator=(const CUgraph_st&) = delete;
  ~CUgraph_st();

  std::vector<std::shared_ptr<CUgraphNode_st>> nodes;
  std::vector<std::shared_ptr<CUuserObject_st>> objects;  // one entry for each reference
  CUgraph cloned_from = nullptr;
  bool is_child = false;             // belongs to a node; cannot be destroyed
  bool capturing = false;            // being captured; cannot be instantiated
  std::weak_ptr<CUgraphExec_st> in;  // the last executable made from it
};

struct CUgraphExec_st {
  std::shared_ptr<CUgraph_st> graph;  // its own copy
  CUcontext context = nullptr;        // the executable ends with it
  unsigned long long flags = 0;
  vramscope::simulator::Point last;  // the last launch; launches of one executable run in order
};

namespace vramscope::simulator {

// Only one thread at a time changes a graph (cuda.h: graph objects are not threadsafe). Any thread
// may look up handles.
Handles<CUgraph_st>& graphs();
Handles<CUgraphNode_st>& graph_nodes();
Handles<CUgraphExec_st>& executable_graphs();

// Adds a node that depends on other nodes of the same graph.
CUgraphNode add_node(CUgraph_st& graph, NodeContent content, const std::vector<CUgraphNode>& after);
// Returns false if a handle is not a node of this graph, or occurs twice.
[[nodiscard]] bool are_nodes_of(const CUgraph_st& graph, const CUgraphNode* nodes,
                                std::size_t count);
// Returns whether the edges carry no data; null is also plain.
[[nodiscard]] bool is_plain(const CUgraphEdgeData* edges, std::size_t count);
// Returns whether the graph or a child has memory nodes.
[[nodiscard]] bool has_memory_nodes(const CUgraph_st& graph);
[[nodiscard]] std::shared_ptr<CUgraph_st> copy_of(const CUgraph_st& graph);
// Returns the nodes, each after those on which it depends; empty for a graph with a cycle.
[[nodiscard]] std::vector<CUgraphNode> in_order(const CUgraph_st& graph);
// Calls `call` for each node of the graph and its children.
void for_each_node(const CUgraph_st& graph, const std::function<void(CUgraphNode_st&)>& call);

// Checks the parameters and prepares what a launch will do. The parameters of an allocation node
// receive its address.
CUresult make_content(NodeContent& content, CUgraph graph);

// Returns whether it is a function of a loaded module.
[[nodiscard]] bool is_function(CUfunction function);

}  // namespace vramscope::simulator
