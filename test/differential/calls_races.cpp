// Verbs for threads at the same time: work, captures and contexts that come and go while others
// free.
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <chrono>
#include <thread>

#include "test/differential/turn.h"

namespace vramscope::differential {
namespace {

constexpr CUhostFn kNothing = [](void*) {};

void wait_for(std::uint64_t us) { std::this_thread::sleep_for(std::chrono::microseconds(us)); }

// work s1 COUNT: so many operations that do nothing, each as late as the device is slow
void work(Turn& turn) {
  const Stream& stream = turn.world.streams[turn.index(0)];
  if (!stream.alive) return turn.skip("no stream");
  for (std::uint64_t i = 0; i < turn.number(1); ++i) {
    turn.code(CU(cuLaunchHostFunc, turn.way(), stream.handle, kNothing, nullptr));
  }
}

// pause MICROSECONDS
void pause(Turn& turn) { wait_for(turn.number(0)); }

// visit [a1 BYTES]: a context of its own, which works when it is destroyed. With a memory there,
// that is freed and asked for again, and ends with it.
void visit(Turn& turn) {
  CUcontext before = current_context(), own = nullptr;
  CUstream stream = nullptr;
  turn.code(CU(cuCtxCreate_v2, turn.way(), &own, 0U, current_device()));
  turn.code(CU(cuStreamCreate, turn.way(), &stream, static_cast<unsigned>(CU_STREAM_NON_BLOCKING)));
  for (int i = 0; i < 3; ++i)
    turn.code(CU(cuLaunchHostFunc, turn.way(), stream, kNothing, nullptr));
  for (int life = 0; turn.has(1) && life < 2; ++life) {
    Memory& memory = turn.memory(0);
    CUdeviceptr address = 0;
    const auto allocate = [&] { return CU(cuMemAlloc_v2, turn.way(), &address, turn.number(1)); };
    turn.code(allocate_at(turn, allocate));
    if (address == 0) break;
    turn.world.begin(memory, MemoryKind::device, address, turn.number(1), current_device(), kNone,
                     turn.site(0));
    turn.code(CU(cuMemsetD8Async, turn.way(), address, static_cast<unsigned char>(1),
                 std::size_t{1}, stream));
    if (life == 0) turn.code(CU(cuMemFree_v2, turn.way(), address)), turn.world.end(memory);
  }
  turn.code(CU(cuCtxDestroy_v2, turn.way(), own));
  if (turn.has(1)) turn.world.end(turn.memory(0));
  turn.say(current_context() == before ? "back" : "elsewhere");
}

// record MODE MICROSECONDS [own|lost]: a capture in the current context that lasts so long, on a
// stream of its own; own: on the thread's default stream; lost: in a context of its own, which ends
// with it. Not on device 0.
void record(Turn& turn) {
  if (current_device() == 0) return turn.skip("others free memory there");
  const auto mode = static_cast<CUstreamCaptureMode>(turn.number(0) % 3);
  const bool is_own = turn.has(2) && turn.word(2) == "own";
  const bool is_lost = turn.has(2) && turn.word(2) == "lost";
  CUcontext context = nullptr;
  CUstream stream = CU_STREAM_PER_THREAD;
  CUgraph graph = nullptr;
  if (is_lost) turn.code(CU(cuCtxCreate_v2, turn.way(), &context, 0U, current_device()));
  if (!is_own) {
    const auto flags = static_cast<unsigned>(CU_STREAM_NON_BLOCKING);
    turn.code(CU(cuStreamCreate, turn.way(), &stream, flags));
  }
  turn.code(CU(cuStreamBeginCapture_v2, turn.way(), stream, mode));
  turn.code(CU(cuLaunchHostFunc, turn.way(), stream, kNothing, nullptr));
  wait_for(turn.number(1));
  if (is_lost) return turn.code(CU(cuCtxDestroy_v2, turn.way(), context));
  turn.code(CU(cuStreamEndCapture, turn.way(), stream, &graph));
  if (graph != nullptr) turn.code(CU(cuGraphDestroy, turn.way(), graph));
  if (!is_own) turn.code(CU(cuStreamDestroy_v2, turn.way(), stream));
}

// own_stream s16: the default stream of the thread, which alone may use it
void own_stream(Turn& turn) {
  Stream& stream = turn.world.streams[turn.index(0)];
  const int context = turn.world.find_context(current_context());
  if (stream.alive || context == kNone) return turn.skip("live");
  stream = Stream{};
  stream.handle = CU_STREAM_PER_THREAD;
  stream.context = context;
  stream.alive = true;
}

// free_in_begin a1 s1 MODE: freed while another thread's call that begins a capture of the stream
// runs, or has just returned
void free_in_begin(Turn& turn) {
  Memory& memory = turn.memory(0);
  const Stream& stream = turn.world.streams[turn.index(1)];
  const bool is_free = stream.alive && !turn.world.is_capturing() && memory.live;
  if (!is_free || memory.kind != MemoryKind::device) return turn.skip("nothing to do");
  if (!settle(turn.world, memory, nullptr)) return turn.skip("busy");
  const CUcontext context = current_context();
  std::atomic<bool> is_over{false};
  CUresult begun = CUDA_SUCCESS, ended = CUDA_SUCCESS;
  CUgraph graph = nullptr;
  std::thread capturing([&] {
    CU(cuCtxSetCurrent, Way::linked, context);
    const auto mode = static_cast<CUstreamCaptureMode>(1 + turn.number(2) % 2);
    begun = CU(cuStreamBeginCapture_v2, turn.way(), stream.handle, mode);
    while (begun == CUDA_SUCCESS && !is_over) std::this_thread::yield();
    is_over = true;
    ended = CU(cuStreamEndCapture, turn.way(), stream.handle, &graph);
  });
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  while (status == CU_STREAM_CAPTURE_STATUS_NONE && !is_over) {
    CU(cuStreamIsCapturing, Way::linked, stream.handle, &status);
  }
  const CUresult freed = CU(cuMemFree_v2, turn.way(), memory.address);
  is_over = true;
  capturing.join();
  turn.code(begun), turn.code(freed), turn.code(ended);
  turn.world.records = true;
  if (freed == CUDA_SUCCESS) turn.world.end(memory);
  turn.world.records = false;
  if (graph != nullptr) turn.code(CU(cuGraphDestroy, turn.way(), graph));
}

}  // namespace

void add_race_verbs(Verbs& verbs) {
  verbs["work"] = work;
  verbs["pause"] = pause;
  verbs["visit"] = visit;
  verbs["record"] = record;
  verbs["own_stream"] = own_stream;
  verbs["free_in_begin"] = free_in_begin;
}

}  // namespace vramscope::differential
