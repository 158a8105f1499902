// Verbs of stream capture and graphs.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "test/differential/turn.h"

namespace vramscope::differential {
namespace {

// capture s1 0|1|2: global, of this thread, relaxed
void capture(Turn& turn) {
  Stream& stream = turn.world.streams[turn.index(0)];
  if (!stream.alive) return turn.skip("no stream");
  const auto mode = static_cast<CUstreamCaptureMode>(turn.number(1) % 3);
  const CUresult code = CU(cuStreamBeginCapture_v2, turn.way(), stream.handle, mode);
  turn.code(code);
  if (code != CUDA_SUCCESS) return;
  stream.capturing = true;
  stream.mode = mode;
  stream.thread = turn.thread();
  stream.uses.clear();
}

// capture_end s1 g1
void capture_end(Turn& turn) {
  Stream& stream = turn.world.streams[turn.index(0)];
  Graph& graph = turn.world.graphs[turn.index(1)];
  if (!stream.alive) return turn.skip("no stream");
  if (graph.alive) return turn.skip("live");
  CUgraph handle = nullptr;
  const CUresult code = CU(cuStreamEndCapture, turn.way(), stream.handle, &handle);
  turn.code(code);
  const bool ended = code == CUDA_SUCCESS || code == CUDA_ERROR_ILLEGAL_STATE ||
                     code == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED ||
                     code == CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
  if (ended) stream.capturing = false;
  turn.say(handle == nullptr ? "no graph" : "graph");
  if (handle == nullptr) return;
  graph = {.handle = handle,
           .executable = nullptr,
           .alive = true,
           .context = stream.context,
           .uses = std::move(stream.uses)};
  stream.uses.clear();
  turn.world.note_graph();
}

// instantiate x1 g1 [old]
void instantiate(Turn& turn) {
  Graph& executable = turn.world.executables[turn.index(0)];
  const Graph& graph = turn.world.graphs[turn.index(1)];
  if (executable.alive) return turn.skip("live");
  if (!graph.alive) return turn.skip("no graph");
  CUgraphExec handle = nullptr;
  const CUresult code = turn.has(2) ? CU(cuGraphInstantiate_v2, turn.way(), &handle, graph.handle,
                                         static_cast<CUgraphNode*>(nullptr),
                                         static_cast<char*>(nullptr), std::size_t{0})
                                    : CU(cuGraphInstantiateWithFlags, turn.way(), &handle,
                                         graph.handle, static_cast<unsigned long long>(0));
  turn.code(code);
  if (code != CUDA_SUCCESS) return;
  executable = graph;
  executable.handle = nullptr;
  executable.executable = handle;
  executable.context = turn.world.find_context(current_context());  // it ends with that
  turn.world.note_graph();
}

// launch x1 s1: only while everything lives that the graph names
void launch(Turn& turn) {
  const Graph& executable = turn.world.executables[turn.index(0)];
  const Stream& stream = turn.world.streams[turn.index(1)];
  if (!executable.alive || !stream.alive || stream.capturing) return turn.skip("nothing to launch");
  const auto lives = [](const GraphUse& use) {
    return use.memory->live && use.memory->life == use.life && use.memory->accessible;
  };
  if (!std::all_of(executable.uses.begin(), executable.uses.end(), lives)) {
    return turn.skip("a memory has gone");
  }
  const Context& context = turn.world.contexts[static_cast<std::size_t>(stream.context)];
  const Queue queue{.context = context.handle, .stream = stream.handle};
  for (const GraphUse& use : executable.uses) {
    if (!may_use(turn.world, queue.context, *use.memory)) return turn.skip("another device's");
    if (!settle(turn.world, *use.memory, &queue)) return turn.skip("busy");
  }
  const CUresult code = CU(cuGraphLaunch, turn.way(), executable.executable, stream.handle);
  turn.code(code);
  if (code != CUDA_SUCCESS) return;
  for (const GraphUse& use : executable.uses) {
    note_work(turn.world, *use.memory, queue);
    for (std::size_t i = 0; i < use.writes.size(); ++i) use.memory->written[i] |= use.writes[i];
  }
}

// clone g2 g1
void clone(Turn& turn) {
  Graph& copy = turn.world.graphs[turn.index(0)];
  const Graph& graph = turn.world.graphs[turn.index(1)];
  if (copy.alive) return turn.skip("live");
  if (!graph.alive) return turn.skip("no graph");
  CUgraph handle = nullptr;
  const CUresult code = CU(cuGraphClone, turn.way(), &handle, graph.handle);
  turn.code(code);
  if (code != CUDA_SUCCESS) return;
  copy = graph;
  copy.handle = handle;
}

// graph_end g1
void graph_end(Turn& turn) {
  Graph& graph = turn.world.graphs[turn.index(0)];
  if (!graph.alive) return turn.skip("no graph");
  const CUresult code = CU(cuGraphDestroy, turn.way(), graph.handle);
  turn.code(code);
  if (code == CUDA_SUCCESS) graph.alive = false;
  turn.world.note_graph_end();
}

// exec_end x1
void exec_end(Turn& turn) {
  Graph& executable = turn.world.executables[turn.index(0)];
  if (!executable.alive) return turn.skip("no graph");
  // It may run still: then its work ends as that of a stream does.
  const CUresult code = CU(cuGraphExecDestroy, turn.way(), executable.executable);
  turn.code(code);
  if (code == CUDA_SUCCESS) executable.alive = false;
  turn.world.note_graph_end();
}

}  // namespace

void add_graph_verbs(Verbs& verbs) {
  verbs["capture"] = capture;
  verbs["capture_end"] = capture_end;
  verbs["instantiate"] = instantiate;
  verbs["launch"] = launch;
  verbs["clone"] = clone;
  verbs["graph_end"] = graph_end;
  verbs["exec_end"] = exec_end;
}

}  // namespace vramscope::differential
