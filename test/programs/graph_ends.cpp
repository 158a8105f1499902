// Memory of graphs that outlives its graph, and nodes of captures that nobody launches.
// SPDX-License-Identifier: Apache-2.0
#include "test/programs/driver.h"
#include "test/programs/graph_nodes.h"

static CUstream begin_capture(std::size_t bytes) {
  CUstream stream = nullptr;
  CUdeviceptr block = 0;
  MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  MUST(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  show("allocate in a capture", cuMemAllocAsync(&block, bytes, stream));
  return stream;
}

static void fail_capture(CUdeviceptr not_of_a_graph) {
  CUgraph graph = nullptr;
  CUstream stream = begin_capture(5 * kMiB);
  show("free other memory in it", cuMemFreeAsync(not_of_a_graph, stream));
  show("end of capture", cuStreamEndCapture(stream, &graph));
  if (graph != nullptr) MUST(cuGraphDestroy(graph));
  MUST(cuStreamDestroy(stream));
}

// The address of memory whose graph and executable are gone.
static CUdeviceptr leave_behind(std::size_t bytes) {
  CUgraph graph = nullptr;
  MUST(cuGraphCreate(&graph, 0));
  const CUdeviceptr left = add_allocation(graph, bytes);
  CUgraphExec run = instantiate(graph);
  show("launch", cuGraphLaunch(run, nullptr));
  show("launch again", cuGraphLaunch(run, nullptr));  // not while something is left
  MUST(cuCtxSynchronize());
  MUST(cuGraphExecDestroy(run));
  MUST(cuGraphDestroy(graph));
  return left;
}

static void free_in_a_graph(CUdeviceptr memory) {
  CUgraph graph = nullptr;
  MUST(cuGraphCreate(&graph, 0));
  add_free(graph, memory);
  CUgraphExec run = instantiate(graph);
  show("launch the free", cuGraphLaunch(run, nullptr));
  MUST(cuCtxSynchronize());
  show("free again", cuMemFree(memory));
  MUST(cuGraphExecDestroy(run));
  MUST(cuGraphDestroy(graph));
}

static void capture_and_free_again(CUdeviceptr memory) {
  CUstream stream = nullptr;
  CUgraph graph = nullptr;
  MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  MUST(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  show("free in a capture", cuMemFreeAsync(memory, stream));
  show("end of capture", cuStreamEndCapture(stream, &graph));
  CUgraphExec run = instantiate(graph);
  std::printf("there before the launch: %zu wrong\n", count_wrong(memory, 4, 7));
  show("launch the captured free", cuGraphLaunch(run, stream));
  MUST(cuStreamSynchronize(stream));
  show("free again", cuMemFree(memory));
  MUST(cuGraphExecDestroy(run));
  MUST(cuGraphDestroy(graph));
  MUST(cuStreamDestroy(stream));
}

int main() {
  start();
  CUdeviceptr plain = allocate(1000);
  fail_capture(plain);
  MUST(cuStreamDestroy(begin_capture(6 * kMiB)));
  free_in_a_graph(leave_behind(3 * kMiB));
  const CUdeviceptr captured = leave_behind(4 * kMiB);
  MUST(cuMemsetD8(captured, 7, 4));
  capture_and_free_again(captured);
  const CUdeviceptr ordered = leave_behind(7 * kMiB);
  show("free in a stream's order", cuMemFreeAsync(ordered, nullptr));
  MUST(cuCtxSynchronize());  // or the next launch could find it still used, and take more
  const CUdeviceptr stays = leave_behind(2 * kMiB);
  MUST(cuMemsetD8(stays, 9, 2 * kMiB));
  std::printf("left behind: %zu wrong\n", count_wrong(stays, 2 * kMiB, 9));
  MUST(cuMemFree(plain));
}
