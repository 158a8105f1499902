// Graphs: nodes with parameters and dependencies, and what is instantiated from them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
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

// What a node does. The vendor's own parameters describe every type.
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
  std::vector<CUgraphNode> after;  // what it depends on, in the order in which it was said
  std::vector<CUgraphNode> before;
  CUgraphNode original = nullptr;  // what it is a copy of
  bool enabled = true;             // in an executable graph
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
  bool capturing = false;            // of an unfinished capture; cannot be instantiated
  std::weak_ptr<CUgraphExec_st> in;  // the last executable made from it
};

struct CUgraphExec_st {
  std::shared_ptr<CUgraph_st> graph;  // its own copy
  CUcontext context = nullptr;        // with which it ends
  unsigned long long flags = 0;
  vramscope::simulator::Point last;  // its last launch; launches of one are in order
};

namespace vramscope::simulator {

// A graph is changed by one thread at a time (cuda.h: graph objects are not threadsafe); the
// handles are safe to look up from any.
Handles<CUgraph_st>& graphs();
Handles<CUgraphNode_st>& graph_nodes();
Handles<CUgraphExec_st>& executable_graphs();

// Adds a node behind others of the same graph.
CUgraphNode add_node(CUgraph_st& graph, NodeContent content, const std::vector<CUgraphNode>& after);
// Null when one of the handles is no node of this graph, or is there twice.
[[nodiscard]] bool are_nodes_of(const CUgraph_st& graph, const CUgraphNode* nodes,
                                std::size_t count);
// No edge of ours carries anything; null is plain, too.
[[nodiscard]] bool is_plain(const CUgraphEdgeData* edges, std::size_t count);
// Memory nodes, here or in a child.
[[nodiscard]] bool has_memory_nodes(const CUgraph_st& graph);
[[nodiscard]] std::shared_ptr<CUgraph_st> copy_of(const CUgraph_st& graph);
// Every node after those that it depends on; empty for a graph with a cycle.
[[nodiscard]] std::vector<CUgraphNode> in_order(const CUgraph_st& graph);
// Calls for the nodes of the graph and of its children.
void for_each_node(const CUgraph_st& graph, const std::function<void(CUgraphNode_st&)>& call);

// Checks the parameters and makes ready what a launch will do. The parameters of a memory
// allocation receive their address.
CUresult make_content(NodeContent& content, CUgraph graph);

// A function of a loaded module.
[[nodiscard]] bool is_function(CUfunction function);

}  // namespace vramscope::simulator
