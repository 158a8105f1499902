// Verbs of streams, events and waits.
// SPDX-License-Identifier: Apache-2.0
#include "test/differential/turn.h"

namespace vramscope::differential {
namespace {

Stream& stream_of(Turn& turn, std::size_t at) { return turn.world.streams[turn.index(at)]; }

// stream s1 FLAGS
void stream(Turn& turn) {
  Stream& stream = stream_of(turn, 0);
  if (stream.alive) return turn.skip("live");
  CUstream handle = nullptr;
  const CUresult code =
      CU(cuStreamCreate, turn.way(), &handle, static_cast<unsigned>(turn.number(1)));
  turn.code(code);
  if (code != CUDA_SUCCESS) return;
  stream = Stream{};
  stream.handle = handle;
  stream.context = turn.world.find_context(current_context());
  stream.alive = stream.context != kNone;
}

// stream_end s1
void stream_end(Turn& turn) {
  Stream& stream = stream_of(turn, 0);
  if (!stream.alive) return turn.skip("no stream");
  // Its work goes on; what becomes of it is known when its context was waited for.
  const Context& context = turn.world.contexts[static_cast<std::size_t>(stream.context)];
  turn.world.for_each_memory([&](Memory& memory) {
    for (Queue& queue : memory.pending) {
      if (queue.stream == stream.handle) queue = {context.handle, nullptr, kEnded};
    }
  });
  const CUresult code = CU(cuStreamDestroy_v2, turn.way(), stream.handle);
  turn.code(code);
  if (code == CUDA_SUCCESS) stream.alive = stream.capturing = false;
}

// sync s1|-
void sync(Turn& turn) {
  CUstream handle = nullptr;
  Queue queue{.context = current_context()};
  if (turn.word(0) != "-") {
    const Stream& stream = stream_of(turn, 0);
    if (!stream.alive) return turn.skip("no stream");
    handle = stream.handle;
    const auto index = static_cast<std::size_t>(stream.context);
    queue = {.context = turn.world.contexts[index].handle, .stream = handle};
  }
  const bool per_thread = turn.way() == Way::dlsym_thread || turn.way() == Way::proc_thread;
  const CUresult code = CU(cuStreamSynchronize, turn.way(), handle);
  turn.code(code);
  if (handle == nullptr && per_thread) queue.thread = turn.thread();
  const bool is_shared_default = handle == nullptr && !per_thread;  // others' ended streams too
  if (code == CUDA_SUCCESS && !is_shared_default) finished(turn.world, queue);
}

// sync_context [c1]
void sync_context(Turn& turn) {
  CUcontext context = current_context();
  CUresult code = CUDA_SUCCESS;
  if (turn.has(0)) {
    const Context& other = turn.world.contexts[turn.index(0)];
    if (!other.alive) return turn.skip("no context");
    context = other.handle;
    code = CU(cuCtxSynchronize_v2, turn.way(), context);
  } else {
    code = CU(cuCtxSynchronize, turn.way());
  }
  turn.code(code);
  if (code == CUDA_SUCCESS) finished_context(turn.world, context);
}

// event e1 s1: recorded at once
void event(Turn& turn) {
  Event& event = turn.world.events[turn.index(0)];
  const Stream& stream = stream_of(turn, 1);
  if (!stream.alive) return turn.skip("no stream");
  if (stream.capturing) return turn.skip("captured");
  if (!event.alive) {
    const CUresult code = CU(cuEventCreate, turn.way(), &event.handle, 0U);
    turn.code(code);
    if (code != CUDA_SUCCESS) return;
    event.alive = true;
    event.context = turn.world.find_context(current_context());
  }
  const CUresult code = CU(cuEventRecord, turn.way(), event.handle, stream.handle);
  turn.code(code);
}

// event_wait e1 [s1]: by the host, or by a stream
void event_wait(Turn& turn) {
  const Event& event = turn.world.events[turn.index(0)];
  if (!event.alive) return turn.skip("no event");
  if (!turn.has(1)) return turn.code(CU(cuEventSynchronize, turn.way(), event.handle));
  const Stream& stream = stream_of(turn, 1);
  if (!stream.alive) return turn.skip("no stream");
  if (stream.capturing) return turn.skip("captured");
  turn.code(CU(cuStreamWaitEvent, turn.way(), stream.handle, event.handle, 0U));
}

// event_end e1
void event_end(Turn& turn) {
  Event& event = turn.world.events[turn.index(0)];
  if (!event.alive) return turn.skip("no event");
  const CUresult code = CU(cuEventDestroy_v2, turn.way(), event.handle);
  turn.code(code);
  if (code == CUDA_SUCCESS) event.alive = false;
}

}  // namespace

void add_stream_verbs(Verbs& verbs) {
  verbs["stream"] = stream;
  verbs["stream_end"] = stream_end;
  verbs["sync"] = sync;
  verbs["sync_context"] = sync_context;
  verbs["event"] = event;
  verbs["event_wait"] = event_wait;
  verbs["event_end"] = event_end;
}

}  // namespace vramscope::differential
