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
  stream.nodes.clear();
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
           .uses = std::move(stream.uses),
           .nodes = std::move(stream.nodes)};
  stream.uses.clear();
  stream.nodes.clear();
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
  for (const int number : executable.nodes) {
    GraphNode& node = turn.world.node(number);
    const bool is_other = node.named != nullptr && node.named->live && node.named->node != number;
    if (is_other) return turn.skip("a name is taken");
    if (!settle(turn.world, node.memory, &queue)) return turn.skip("busy");
  }
  const auto start = [&] {
    return CU(cuGraphLaunch, turn.way(), executable.executable, stream.handle);
  };
  CUresult code = start();
  if (code == CUDA_ERROR_OUT_OF_MEMORY && !turn.world.asks_once) {
    turn.world.runs_out = true;
    code = start();
  }
  turn.code(code);
  if (code != CUDA_SUCCESS) return;
  turn.world.hold(executable.nodes, true);
  for (const int number : executable.nodes) {
    note_work(turn.world, turn.world.node(number).memory, queue);
    turn.world.leave_behind(number, queue);
  }
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
  if (code == CUDA_SUCCESS) {
    executable.alive = false;
  }
  turn.world.note_graph_end();
}

// A node that copies to the head of another memory, when that is there and shorter.
void copy_node(Turn& turn, CUdeviceptr from, std::uint64_t bytes, Memory& to, Stream& stream) {
  const bool is_bytes = to.live && to.accessible && to.kind == MemoryKind::device;
  const std::uint64_t head = std::min<std::uint64_t>(to.bytes, kSpotBytes);
  const CUcontext context = turn.world.contexts[static_cast<std::size_t>(stream.context)].handle;
  if (!is_bytes || head > bytes || !may_use(turn.world, context, to)) return turn.say("no copy");
  const CUresult code = CU(cuMemcpyAsync, turn.way(), to.address, from, head, stream.handle);
  turn.code(code);
  if (code != CUDA_SUCCESS) return;
  stream.uses.push_back({.memory = &to, .life = to.life, .writes = {true, false}});
}

// node a5 BYTES s1 VALUE keep|free a3|- [p1]: memory of the graph that s1 captures, like that of a
// pool, its head set, and copied to the head of a3. `keep`: launches leave it behind as a5
void node(Turn& turn) {
  Memory& memory = turn.memory(0);
  World& world = turn.world;
  Stream& stream = world.streams[turn.index(2)];
  if (memory.live) return turn.skip("live");
  if (!stream.alive || !stream.capturing) return turn.skip("no capture");
  const Pool none{.device = world.contexts[static_cast<std::size_t>(stream.context)].device};
  const Pool& pool = turn.has(6) ? world.pools[turn.index(6)] : none;
  if (turn.has(6) && !pool.alive) return turn.skip("no pool");
  CUdeviceptr address = 0;
  const CUresult code = allocate_at(turn, [&] {
    return turn.has(6) ? CU(cuMemAllocFromPoolAsync, turn.way(), &address, turn.number(1),
                            pool.handle, stream.handle)
                       : CU(cuMemAllocAsync, turn.way(), &address, turn.number(1), stream.handle);
  });
  turn.code(code);
  if (code != CUDA_SUCCESS) return;
  const bool stays = turn.word(4) == "keep";
  stream.nodes.push_back(static_cast<int>(world.nodes.size()));
  GraphNode& made = world.nodes.emplace_back();
  made.memory.kind = MemoryKind::graph;
  made.memory.address = address;
  made.memory.bytes = turn.number(1);
  made.memory.device = pool.device;
  made.memory.site = turn.site(0);
  made.named = stays ? &memory : nullptr;
  const std::uint64_t bytes = std::min<std::uint64_t>(turn.number(1), kSpotBytes);
  const auto value = static_cast<unsigned char>(turn.number(3));
  turn.code(CU(cuMemsetD8Async, turn.way(), address, value, bytes, stream.handle));
  if (turn.word(5) != "-") copy_node(turn, address, bytes, turn.memory(5), stream);
  if (!stays) turn.code(CU(cuMemFreeAsync, turn.way(), address, stream.handle));
}

// graph_trim DEVICE: what the driver keeps for graphs goes back, but for the pages of what launches
// left behind
void graph_trim(Turn& turn) {
  Memory work;
  for (const Context& context : turn.world.contexts) {
    if (context.alive) work.pending.push_back({.context = context.handle});
  }
  if (!settle(turn.world, work, nullptr)) return turn.skip("busy");
  const auto device = static_cast<int>(turn.number(0));
  const CUresult code = CU(cuDeviceGraphMemTrim, turn.way(), device);
  turn.code(code);
  if (code != CUDA_SUCCESS) return;
  std::vector<int> idle;
  for (std::size_t i = 0; i < turn.world.nodes.size(); ++i) {
    if (turn.world.nodes[i].memory.device != device) continue;
    if (turn.world.nodes[i].left) return;
    idle.push_back(static_cast<int>(i));
  }
  turn.world.hold(idle, false);
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
  verbs["node"] = node;
  verbs["graph_trim"] = graph_trim;
}

}  // namespace vramscope::differential
