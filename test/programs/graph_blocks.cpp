// Memory that a graph uses is freed and asked for again while the graph exists.
// SPDX-License-Identifier: Apache-2.0
// Argument: tell, to print also whether the same memory came back; a number: MiB of the block.
#include <cstring>

#include "test/programs/driver.h"

static CUgraph capture(CUdeviceptr block, CUstream stream) {
  CUgraph graph = nullptr;
  MUST(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  MUST(cuMemsetD8Async(block, 0x11, 4096, stream));
  MUST(cuStreamEndCapture(stream, &graph));
  return graph;
}

static void ask_again(const char* when, CUdeviceptr block, std::size_t bytes, bool tell) {
  CUdeviceptr next = allocate(bytes);
  if (tell) std::printf("the same block while %s: %d\n", when, next == block);
  show("free", cuMemFree(next));
}

// An executable does not end with the context that was current when it was made.
static void outlive_a_context(CUstream stream, std::size_t bytes, bool tell) {
  CUcontext own = nullptr;
  CUgraphExec executable = nullptr;
  const CUdeviceptr block = allocate(bytes);
  CUgraph graph = capture(block, stream);
  MUST(cuCtxGetCurrent(&own));
  CUcontext other = create_context();
  MUST(cuGraphInstantiateWithFlags(&executable, graph, 0));
  MUST(cuCtxDestroy(other));
  MUST(cuCtxSetCurrent(own));
  show("destroy the graph", cuGraphDestroy(graph));
  show("launch after the context's end", cuGraphLaunch(executable, stream));
  show("wait", cuStreamSynchronize(stream));
  show("free of memory in an executable", cuMemFree(block));
  ask_again("the executable exists", block, bytes, tell);
  show("destroy the executable", cuGraphExecDestroy(executable));
  ask_again("none exists", block, bytes, tell);
}

int main(int argc, char** argv) {
  bool tell = argc > 1 && std::strcmp(argv[1], "tell") == 0;
  std::size_t bytes = (argc > 1 && !tell ? std::strtoul(argv[1], nullptr, 10) : 4) * kMiB;
  start();
  CUstream stream;
  MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  const std::size_t before = unused_bytes();
  for (int round = 0; round < 2; ++round) {
    CUdeviceptr block = allocate(bytes);
    CUgraph graph = capture(block, stream), copy = nullptr;
    CUgraphExec executable = nullptr;
    MUST(cuGraphInstantiateWithFlags(&executable, graph, 0));
    show("launch", cuGraphLaunch(executable, stream));
    show("wait", cuStreamSynchronize(stream));
    show("free of memory in a graph", cuMemFree(block));
    show("free again", cuMemFree(block));
    ask_again("all exist", block, bytes, tell);
    show("clone", cuGraphClone(&copy, graph));
    show("destroy the graph", cuGraphDestroy(graph));
    show("destroy the executable", cuGraphExecDestroy(executable));
    ask_again("the clone exists", block, bytes, tell);
    show("destroy the clone", cuGraphDestroy(copy));
    ask_again("none exists", block, bytes, tell);
  }
  outlive_a_context(stream, bytes, tell);
  std::printf("everything is free: %d\n", unused_bytes() == before);
}
