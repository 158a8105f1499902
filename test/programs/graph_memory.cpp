// Memory nodes of graphs, added one by one and captured.
// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "test/programs/by_name.h"

static constexpr std::size_t kMiB = std::size_t{1} << 20;

template <class Parameters>
static void fill(Parameters& node, std::size_t bytes) {
  node.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  node.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  node.poolProps.location.id = 0;
  node.bytesize = bytes;
}

// One block that is freed in the graph, two that are not.
static void add_nodes(CUgraph graph, CUdeviceptr left[2]) {
  CUgraphNode node = nullptr, end = nullptr;
  CUDA_MEM_ALLOC_NODE_PARAMS parameters;
  std::memset(&parameters, 0, sizeof parameters);
  fill(parameters, 3 * kMiB);
  const CUgraphNode* none = nullptr;
  if (CALL(cuGraphAddMemAllocNode, &node, graph, none, std::size_t{0}, &parameters) ==
      CUDA_SUCCESS) {
    const CUgraphNode* before = &node;
    CALL(cuGraphAddMemFreeNode, &end, graph, before, std::size_t{1}, parameters.dptr);
  }
  CUgraphNodeParams any;
  std::memset(&any, 0, sizeof any);
  any.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC;
  fill(any.alloc, 2 * kMiB);
  CALL(cuGraphAddNode, &node, graph, none, std::size_t{0}, &any);
  left[0] = any.alloc.dptr;
  const CUgraphEdgeData* edges = nullptr;
  CALL(cuGraphAddNode_v2, &node, graph, none, edges, std::size_t{0}, &any);
  left[1] = any.alloc.dptr;
}

// What the first launch left behind must be freed before the next.
static void run_twice(CUgraphExec run, CUstream stream, const CUdeviceptr left[2]) {
  CALL(cuGraphUpload, run, stream);
  CALL(cuGraphUpload_ptsz, run, stream);
  CALL(cuGraphLaunch, run, stream);
  CALL(cuGraphLaunch_ptsz, run, stream);
  CALL(cuMemFreeAsync, left[0], stream);
  CALL(cuMemFreeAsync_ptsz, left[1], stream);
  CALL(cuGraphLaunch_ptsz, run, stream);
  CALL(cuStreamSynchronize, stream);
  for (int i = 0; i < 2; ++i) CALL(cuMemFree_v2, left[i]);
}

static void instantiate(CUgraph graph) {
  CUgraphExec run = nullptr;
  CUgraphNode wrong = nullptr;
  char text[100] = "";
  CUDA_GRAPH_INSTANTIATE_PARAMS how;
  std::memset(&how, 0, sizeof how);
  const auto destroy = [&](CUresult code) {
    if (code == CUDA_SUCCESS) CALL(cuGraphExecDestroy, run);
  };
  destroy(CALL(cuGraphInstantiate, &run, graph, &wrong, text, sizeof text));
  destroy(CALL(cuGraphInstantiate_v2, &run, graph, &wrong, text, sizeof text));
  destroy(CALL(cuGraphInstantiateWithFlags, &run, graph, 0ull));
  destroy(CALL(cuGraphInstantiateWithParams, &run, graph, &how));
  destroy(CALL(cuGraphInstantiateWithParams_ptsz, &run, graph, &how));
}

static void capture(CUstream stream) {
  CUgraph graph = nullptr;
  CUdeviceptr block = 0;
  CALL(cuStreamBeginCapture_v2, stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  if (CALL(cuMemAllocAsync, &block, 5 * kMiB, stream) == CUDA_SUCCESS) {
    CALL(cuMemFreeAsync, block, stream);
  }
  if (CALL(cuStreamEndCapture, stream, &graph) == CUDA_SUCCESS) CALL(cuGraphDestroy, graph);
}

static void capture_into(CUstream stream, CUgraph graph) {
  const CUgraphNode* none = nullptr;
  const CUgraphEdgeData* edges = nullptr;
  const auto mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  if (CALL(cuStreamBeginCaptureToGraph, stream, graph, none, edges, std::size_t{0}, mode) ==
      CUDA_SUCCESS) {
    CALL(cuStreamEndCapture, stream, &graph);
  }
  if (CALL(cuStreamBeginCaptureToGraph_ptsz, stream, graph, none, edges, std::size_t{0}, mode) ==
      CUDA_SUCCESS) {
    CALL(cuStreamEndCapture_ptsz, stream, &graph);
  }
}

int main() {
  start_by_name();
  CUstream stream = nullptr;
  CUgraph graph = nullptr, empty = nullptr;
  CUgraphExec run = nullptr;
  CALL(cuStreamCreate, &stream, 0u);
  CALL(cuGraphCreate, &empty, 0u);
  instantiate(empty);
  capture_into(stream, empty);
  CALL(cuGraphDestroy, empty);
  capture(stream);
  if (CALL(cuGraphCreate, &graph, 0u) == CUDA_SUCCESS) {
    CUdeviceptr left[2] = {};
    add_nodes(graph, left);
    const bool runs = CALL(cuGraphInstantiateWithFlags, &run, graph, 0ull) == CUDA_SUCCESS;
    CALL(cuGraphDestroy, graph);
    if (runs) run_twice(run, stream, left);
    if (runs) CALL(cuGraphExecDestroy, run);
  }
  CALL(cuDeviceGraphMemTrim, 0);
  CALL(cuStreamDestroy_v2, stream);
}
