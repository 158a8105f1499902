// Graphs: recordings of a capture, replayed in the order in which they were recorded.
// SPDX-License-Identifier: Apache-2.0
#include "test/simulator/driver.h"

namespace vramscope::simulator {

namespace {

Handles<CUgraphExec_st>& executables() {
  static auto& all = *new Handles<CUgraphExec_st>;
  return all;
}

}  // namespace

Handles<CUgraph_st>& graphs() {
  static auto& all = *new Handles<CUgraph_st>;
  return all;
}

namespace body {

CUresult cuGraphCreate(CUgraph* graph, unsigned flags) {
  if (graph == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  *graph = graphs().add(std::make_shared<CUgraph_st>());
  return CUDA_SUCCESS;
}

CUresult cuGraphDestroy(CUgraph graph) {
  return graphs().remove(graph) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

// Nodes are counted, not described: asking for them is an error.
CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode* nodes, size_t* count) {
  const auto found = graphs().find(graph);
  if (!found || count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (nodes != nullptr) return CUDA_ERROR_NOT_SUPPORTED;
  *count = found->recording.size();
  return CUDA_SUCCESS;
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec* executable, CUgraph graph,
                                     unsigned long long /*flags*/) {
  const auto found = graphs().find(graph);
  if (!found || executable == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *executable =
      executables().add(std::make_shared<CUgraphExec_st>(CUgraphExec_st{found->recording}));
  return CUDA_SUCCESS;
}

CUresult cuGraphUpload(CUgraphExec executable, CUstream stream) {
  if (!executables().find(executable)) return CUDA_ERROR_INVALID_VALUE;
  return resolve(stream) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuGraphLaunch(CUgraphExec executable, CUstream handle) {
  const auto found = executables().find(executable);
  if (!found) return CUDA_ERROR_INVALID_VALUE;
  const auto stream = resolve(handle);
  if (!stream) return CUDA_ERROR_INVALID_HANDLE;
  return submit(*stream, [found] {
    for (const Engine::Work& work : found->recording) {
      if (work) work();
    }
  });
}

CUresult cuGraphExecDestroy(CUgraphExec executable) {
  return executables().remove(executable) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace body

}  // namespace vramscope::simulator
