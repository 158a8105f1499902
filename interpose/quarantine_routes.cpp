// The life of graphs, for the blocks that they may name.
// SPDX-License-Identifier: Apache-2.0
#include "interpose/routes.h"

namespace vramscope::routes {
namespace {

// `graph` is set by the call.
template <class Handle>
CUresult begin_graph(Call& call, const DirectCall& direct, Handle* graph) {
  const CUresult code = direct();
  if (code == CUDA_SUCCESS && graph != nullptr) call.profiler().graphs().began(*graph);
  return code;
}

template <class Handle>
CUresult end_graph(Call& call, const DirectCall& direct, Handle graph) {
  const CUresult code = direct();
  if (code == CUDA_SUCCESS) call.profiler().graphs().ended(graph);
  return code;
}

}  // namespace

CUresult cuGraphInstantiate(Call& call, const DirectCall& direct, CUgraphExec* phGraphExec, CUgraph,
                            CUgraphNode*, char*, std::size_t) noexcept {
  return begin_graph(call, direct, phGraphExec);
}
CUresult cuGraphInstantiate_v2(Call& call, const DirectCall& direct, CUgraphExec* phGraphExec,
                               CUgraph, CUgraphNode*, char*, std::size_t) noexcept {
  return begin_graph(call, direct, phGraphExec);
}
CUresult cuGraphInstantiateWithFlags(Call& call, const DirectCall& direct, CUgraphExec* phGraphExec,
                                     CUgraph, unsigned long long) noexcept {
  return begin_graph(call, direct, phGraphExec);
}
#if CUDA_VERSION >= 12000
CUresult cuGraphInstantiateWithParams(Call& call, const DirectCall& direct,
                                      CUgraphExec* phGraphExec, CUgraph,
                                      CUDA_GRAPH_INSTANTIATE_PARAMS*) noexcept {
  return begin_graph(call, direct, phGraphExec);
}
CUresult cuGraphInstantiateWithParams_ptsz(Call& call, const DirectCall& direct,
                                           CUgraphExec* phGraphExec, CUgraph,
                                           CUDA_GRAPH_INSTANTIATE_PARAMS*) noexcept {
  return begin_graph(call, direct, phGraphExec);
}
#endif
CUresult cuGraphClone(Call& call, const DirectCall& direct, CUgraph* phGraphClone,
                      CUgraph) noexcept {
  return begin_graph(call, direct, phGraphClone);
}

CUresult cuGraphDestroy(Call& call, const DirectCall& direct, CUgraph hGraph) noexcept {
  return end_graph(call, direct, hGraph);
}
CUresult cuGraphExecDestroy(Call& call, const DirectCall& direct, CUgraphExec hGraphExec) noexcept {
  return end_graph(call, direct, hGraphExec);
}

}  // namespace vramscope::routes
