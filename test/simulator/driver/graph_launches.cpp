// Executable graphs: instantiation, launches, updates.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "test/simulator/driver/driver.h"

namespace vramscope::simulator {

namespace {

using Allocations = std::vector<std::shared_ptr<GraphAllocation>>;

Allocations allocations_of(const CUgraph_st& graph, CUgraphNodeType type) {
  Allocations found;
  for_each_node(graph, [&](const CUgraphNode_st& node) {
    if (node.content.parameters.type == type) found.push_back(node.content.memory);
  });
  return found;
}

bool contains(const Allocations& all, const std::shared_ptr<GraphAllocation>& one) {
  return std::ranges::find(all, one) != all.end();
}

void free_left_behind(const GraphAllocation& allocation) {
  const auto any = [](const Allocation&) { return true; };
  if (driver().memory.take(allocation.start, any)) {
    if (const auto unmapped = unmap_graph_allocation(allocation.start)) finish_free(*unmapped);
  }
}

// Calls for each device on which nodes of the graph allocate.
template <class Use>
CUresult on_each_device(const Allocations& made, Use use) {
  std::map<int, std::uint64_t> bytes;
  for (const auto& allocation : made) bytes[allocation->device] += allocation->taken_bytes();
  for (const auto& [device, needed] : bytes) {
    GraphMemory& memory = driver().devices[static_cast<std::size_t>(device)]->graphs;
    if (const Status status = use(memory, needed); !status.ok()) return result_of(status);
  }
  return CUDA_SUCCESS;
}

CUresult map_memory(const Allocations& made, std::uint64_t stream) {
  return on_each_device(made, [stream](GraphMemory& memory, std::uint64_t bytes) {
    return memory.map(stream, bytes);
  });
}

CUresult map_memory(const CUgraphExec_st& executable, CUstream handle) {
  const auto stream = resolve(handle);
  if (!stream) return CUDA_ERROR_INVALID_HANDLE;
  return map_memory(allocations_of(*executable.graph, CU_GRAPH_NODE_TYPE_MEM_ALLOC), stream->id);
}

// What a launch does to the memory of graphs, as the program sees it when the call returns.
CUresult launch_memory(CUgraphExec_st& executable, std::uint64_t stream) {
  const Allocations made = allocations_of(*executable.graph, CU_GRAPH_NODE_TYPE_MEM_ALLOC);
  const Allocations freed = allocations_of(*executable.graph, CU_GRAPH_NODE_TYPE_MEM_FREE);
  const bool auto_free = (executable.flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH) != 0;
  for (const auto& allocation : made) {
    if (allocation->mapped && !auto_free) return CUDA_ERROR_INVALID_VALUE;
  }
  for (const auto& allocation : freed) {
    if (!contains(made, allocation) && !allocation->mapped) return CUDA_ERROR_INVALID_VALUE;
  }
  for (const auto& allocation : made) {
    if (allocation->mapped) free_left_behind(*allocation);
  }
  if (const CUresult result = map_memory(made, stream); result != CUDA_SUCCESS) return result;
  for (const auto& allocation : made) {
    if (!contains(freed, allocation)) map_graph_allocation(allocation, stream);
  }
  for (const auto& allocation : freed) {
    if (!contains(made, allocation)) free_left_behind(*allocation);
  }
  return CUDA_SUCCESS;
}

// What one launch does, taken when it is called: later changes of parameters do not reach it.
struct Launch {
  std::vector<Engine::Work> work;
  std::vector<Point> after;
  std::vector<std::shared_ptr<CUevent_st>> records;
  std::uint64_t kernels = 0;
};

void collect(Launch& launch, const CUgraph_st& graph) {
  for (CUgraphNode node : in_order(graph)) {
    const NodeContent& content = node->content;
    if (!node->enabled) continue;
    if (content.child) collect(launch, *content.child);
    if (content.work) launch.work.push_back(content.work);
    const auto event = content.parameters.eventRecord.event;
    if (content.parameters.type == CU_GRAPH_NODE_TYPE_KERNEL) ++launch.kernels;
    if (content.parameters.type == CU_GRAPH_NODE_TYPE_EVENT_RECORD) {
      if (auto found = events().find(event)) launch.records.push_back(std::move(found));
    }
    if (content.parameters.type == CU_GRAPH_NODE_TYPE_WAIT_EVENT) {
      const auto found = events().find(event);
      if (!found) continue;
      const std::lock_guard lock(found->mutex);
      launch.after.push_back(found->point);
    }
  }
}

CUresult launch_now(const std::shared_ptr<CUgraphExec_st>& executable, CUstream_st& stream) {
  if (const CUresult no = refuse_implicit(stream); no != CUDA_SUCCESS) return no;
  if (const CUresult no = launch_memory(*executable, stream.id); no != CUDA_SUCCESS) return no;
  Launch launch;
  launch.after.push_back(executable->last);
  collect(launch, *executable->graph);
  driver().launches += launch.kernels;
  auto done = std::make_shared<std::atomic<std::int64_t>>(0);
  const auto run = [work = std::move(launch.work), executable, done] {
    for (const Engine::Work& piece : work) piece();
    *done = now_ns();
  };
  executable->last = stream.context->streams.submit(stream, run, std::move(launch.after));
  const Allocations made = allocations_of(*executable->graph, CU_GRAPH_NODE_TYPE_MEM_ALLOC);
  (void)on_each_device(made, [&](GraphMemory& memory, std::uint64_t) {
    return memory.launched(stream.id, executable->last), Status{};
  });
  for (const auto& event : launch.records) record_at(*event, executable->last, done);
  return CUDA_SUCCESS;
}

// In a capture a launch becomes a child graph.
CUresult launch_in_capture(const CUgraphExec_st& executable, CUstream_st& stream) {
  if (has_memory_nodes(*executable.graph)) return CUDA_ERROR_NOT_SUPPORTED;
  NodeContent content{.parameters = parameters_for(CU_GRAPH_NODE_TYPE_GRAPH)};
  content.child = copy_of(*executable.graph);
  content.child->is_child = true;
  content.parameters.graph.graph = graphs().add(content.child);
  return record_node(stream, std::move(content));
}

bool fits_device_launch(const CUgraph_st& graph, CUgraphNode* wrong) {
  for_each_node(graph, [wrong](CUgraphNode_st& node) {
    const CUgraphNodeType type = node.content.parameters.type;
    if (type > CU_GRAPH_NODE_TYPE_MEMSET && type != CU_GRAPH_NODE_TYPE_GRAPH) *wrong = &node;
  });
  return *wrong == nullptr && !graph.nodes.empty();
}

CUresult instantiate(CUgraphExec* handle, CUgraph graph_handle, CUDA_GRAPH_INSTANTIATE_PARAMS& p) {
  constexpr cuuint64_t kBoth =
      CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH;
  const auto graph = graphs().find(graph_handle);
  p.result_out = CUDA_GRAPH_INSTANTIATE_ERROR;
  p.hErrNode_out = nullptr;
  if (!graph || graph->capturing || handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (p.flags > 15 || (p.flags & kBoth) == kBoth) return CUDA_ERROR_INVALID_VALUE;
  if (in_order(*graph).empty() && !graph->nodes.empty()) {
    p.result_out = CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE;
    p.hErrNode_out = graph->nodes.front().get();
    return CUDA_ERROR_INVALID_VALUE;
  }
  if ((p.flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) != 0 &&
      !fits_device_launch(*graph, &p.hErrNode_out)) {
    p.result_out = CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED;
    return CUDA_ERROR_INVALID_VALUE;
  }
  const auto before = graph->in.lock();
  if (before && executable_graphs().find(before.get()) && has_memory_nodes(*graph)) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  auto made = std::make_shared<CUgraphExec_st>();
  made->graph = copy_of(*graph);
  made->flags = p.flags;
  if ((p.flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD) != 0) {
    if (const CUresult no = map_memory(*made, p.hUploadStream); no != CUDA_SUCCESS) return no;
  }
  graph->in = made;
  *handle = executable_graphs().add(std::move(made));
  p.result_out = CUDA_GRAPH_INSTANTIATE_SUCCESS;
  return CUDA_SUCCESS;
}

// Nodes are paired in the order in which they were made.
CUgraphExecUpdateResult compare(const CUgraph_st& mine, const CUgraph_st& given,
                                CUgraphExecUpdateResultInfo& out) {
  if (mine.nodes.size() != given.nodes.size()) return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
  const auto place = [](const CUgraph_st& graph, CUgraphNode node) {
    return std::ranges::find(graph.nodes, node, &std::shared_ptr<CUgraphNode_st>::get) -
           graph.nodes.begin();
  };
  for (std::size_t i = 0; i < mine.nodes.size(); ++i) {
    const CUgraphNode_st& old = *mine.nodes[i];
    out.errorNode = given.nodes[i].get();
    if (old.content.parameters.type != out.errorNode->content.parameters.type) {
      return CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
    }
    if (old.content.is_memory()) return CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED;
    const auto& after = out.errorNode->after;
    if (old.after.size() != after.size()) return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    for (std::size_t k = 0; k < after.size(); ++k) {
      if (place(mine, old.after[k]) == place(given, after[k])) continue;
      out.errorFromNode = after[k];
      return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    }
    if (!old.content.child) continue;
    const auto inner = compare(*old.content.child, *out.errorNode->content.child, out);
    if (inner != CU_GRAPH_EXEC_UPDATE_SUCCESS) return inner;
  }
  out.errorNode = nullptr;
  return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

void take_contents(CUgraph_st& mine, const CUgraph_st& given) {
  for (std::size_t i = 0; i < mine.nodes.size(); ++i) {
    NodeContent& content = mine.nodes[i]->content;
    if (content.child) {
      take_contents(*content.child, *given.nodes[i]->content.child);
    } else {
      content = given.nodes[i]->content;
    }
  }
}

}  // namespace

namespace body {

CUresult cuGraphInstantiateWithParams(CUgraphExec* executable, CUgraph graph,
                                      CUDA_GRAPH_INSTANTIATE_PARAMS* parameters) {
  if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return instantiate(executable, graph, *parameters);
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec* executable, CUgraph graph,
                                     unsigned long long flags) {
  if ((flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD) != 0) return CUDA_ERROR_INVALID_VALUE;
  CUDA_GRAPH_INSTANTIATE_PARAMS parameters = {};
  parameters.flags = flags;
  return instantiate(executable, graph, parameters);
}

CUresult cuGraphInstantiate_v2(CUgraphExec* executable, CUgraph graph, CUgraphNode* wrong,
                               char* log, std::size_t bytes) {
  CUDA_GRAPH_INSTANTIATE_PARAMS parameters = {};
  const CUresult result = instantiate(executable, graph, parameters);
  if (wrong != nullptr) *wrong = parameters.hErrNode_out;
  if (log != nullptr && bytes != 0) *log = '\0';
  return result;
}

CUresult cuGraphInstantiate(CUgraphExec* executable, CUgraph graph, CUgraphNode* wrong, char* log,
                            std::size_t bytes) {
  return body::cuGraphInstantiate_v2(executable, graph, wrong, log, bytes);
}

CUresult cuGraphUpload(CUgraphExec handle, CUstream stream) {
  const auto executable = executable_graphs().find(handle);
  if (!executable) return CUDA_ERROR_INVALID_VALUE;
  return map_memory(*executable, stream);
}

CUresult cuGraphLaunch(CUgraphExec handle, CUstream stream_handle) {
  const auto executable = executable_graphs().find(handle);
  if (!executable) return CUDA_ERROR_INVALID_VALUE;
  const auto stream = resolve(stream_handle);
  if (!stream) return CUDA_ERROR_INVALID_HANDLE;
  return capture_of(*stream) ? launch_in_capture(*executable, *stream)
                             : launch_now(executable, *stream);
}

CUresult cuGraphExecDestroy(CUgraphExec handle) {
  if (const CUresult refusal = refuse_in_capture(); refusal != CUDA_SUCCESS) return refusal;
  return executable_graphs().remove(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGraphExecGetFlags(CUgraphExec handle, cuuint64_t* flags) {
  const auto executable = executable_graphs().find(handle);
  if (!executable || flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *flags = executable->flags & ~cuuint64_t{CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD};
  return CUDA_SUCCESS;
}

CUresult cuGraphExecUpdate_v2(CUgraphExec handle, CUgraph graph_handle,
                              CUgraphExecUpdateResultInfo* out) {
  const auto executable = executable_graphs().find(handle);
  const auto graph = graphs().find(graph_handle);
  if (!executable || !graph || out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = {};
  out->result = compare(*executable->graph, *graph, *out);
  if (out->result != CU_GRAPH_EXEC_UPDATE_SUCCESS) return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  take_contents(*executable->graph, *graph);
  return CUDA_SUCCESS;
}

// What a child graph does; it must be made as before (cuda.h).
CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec handle, CUgraphNode original,
                                            CUgraph child) {
  const auto executable = executable_graphs().find(handle);
  const auto given = graphs().find(child);
  if (!executable || !given) return CUDA_ERROR_INVALID_VALUE;
  CUgraph_st* mine = nullptr;
  for_each_node(*executable->graph, [&](const CUgraphNode_st& node) {
    if (node.original == original) mine = node.content.child.get();
  });
  CUgraphExecUpdateResultInfo out = {};
  if (mine == nullptr || compare(*mine, *given, out) != CU_GRAPH_EXEC_UPDATE_SUCCESS)
    return CUDA_ERROR_INVALID_VALUE;
  take_contents(*mine, *given);
  return CUDA_SUCCESS;
}

CUresult cuGraphExecUpdate(CUgraphExec executable, CUgraph graph, CUgraphNode* wrong,
                           CUgraphExecUpdateResult* result) {
  CUgraphExecUpdateResultInfo out = {};
  const CUresult code = body::cuGraphExecUpdate_v2(executable, graph, &out);
  if (wrong != nullptr) *wrong = out.errorNode;
  if (result != nullptr) *result = out.result;
  return code;
}

}  // namespace body

}  // namespace vramscope::simulator
