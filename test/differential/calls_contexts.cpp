// Verbs of contexts: their beginning and end, and which is current.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "test/differential/turn.h"

namespace vramscope::differential {
namespace {

Context& context_of(Turn& turn, std::size_t at) { return turn.world.contexts[turn.index(at)]; }

// What is current on this thread, the last one now, and what was before: to leave an ended context
// by a pop, or to come back to one, is a crash.
thread_local std::vector<CUcontext> entered;

void made_current(CUcontext context) {
  if (!entered.empty()) entered.pop_back();
  if (context != nullptr) entered.push_back(context);
}

void ended_here(CUcontext context) {
  if (!entered.empty() && entered.back() == context) entered.pop_back();
}

bool may_pop(const World& world) {
  const CUcontext now = current_context();
  if (now == nullptr) return entered.empty();
  if (entered.empty() || entered.back() != now) return false;
  const std::size_t first = entered.size() - std::min<std::size_t>(entered.size(), 2);
  return std::all_of(entered.begin() + static_cast<std::ptrdiff_t>(first), entered.end(),
                     [&](CUcontext one) { return world.find_context(one) != kNone; });
}

// init
void init(Turn& turn) { turn.code(CU(cuInit, turn.way(), 0U)); }

// primary c0 DEVICE: retained, and current
void primary(Turn& turn) {
  CUcontext handle = nullptr;
  const auto device = static_cast<CUdevice>(turn.number(1));
  const CUresult code = CU(cuDevicePrimaryCtxRetain, turn.way(), &handle, device);
  turn.code(code);
  if (code != CUDA_SUCCESS) return;
  const CUresult set = CU(cuCtxSetCurrent, turn.way(), handle);
  turn.code(set);
  if (set == CUDA_SUCCESS) made_current(handle);
  const int known = turn.world.find_context(handle);
  if (known != kNone) {
    ++turn.world.contexts[static_cast<std::size_t>(known)].attached;
    return;
  }
  Context& context = context_of(turn, 0);
  if (context.alive) return turn.say("unnamed");
  context = {.handle = handle, .alive = true, .primary = true, .device = device, .attached = 1};
}

int primary_of(const World& world, int device) {
  for (std::size_t i = 0; i < world.contexts.size(); ++i) {
    const Context& context = world.contexts[i];
    if (context.alive && context.primary && context.device == device) return static_cast<int>(i);
  }
  return kNone;
}

// release DEVICE [old]
void release(Turn& turn) {
  const auto device = static_cast<CUdevice>(turn.number(0));
  if (!settle_context(turn.world, primary_of(turn.world, device))) return turn.skip("busy");
  const CUresult code = turn.has(1) ? CU(cuDevicePrimaryCtxRelease, turn.way(), device)
                                    : CU(cuDevicePrimaryCtxRelease_v2, turn.way(), device);
  turn.code(code);
  const int context = primary_of(turn.world, device);
  if (code != CUDA_SUCCESS || context == kNone) return;
  if (--turn.world.contexts[static_cast<std::size_t>(context)].attached == 0) {
    turn.world.end_context(context);
  }
}

// reset DEVICE [old]
void reset(Turn& turn) {
  const auto device = static_cast<CUdevice>(turn.number(0));
  if (!settle_context(turn.world, primary_of(turn.world, device))) return turn.skip("busy");
  const CUresult code = turn.has(1) ? CU(cuDevicePrimaryCtxReset, turn.way(), device)
                                    : CU(cuDevicePrimaryCtxReset_v2, turn.way(), device);
  turn.code(code);
  const int context = primary_of(turn.world, device);
  if (code == CUDA_SUCCESS && context != kNone) turn.world.end_context(context);
}

// context c1 DEVICE [old]: created, and current
void context(Turn& turn) {
  Context& context = context_of(turn, 0);
  if (context.alive) return turn.skip("live");
  CUcontext handle = nullptr;
  const auto device = static_cast<CUdevice>(turn.number(1));
  const CUresult code = turn.has(2) ? CU(cuCtxCreate_v2, turn.way(), &handle, 0U, device)
                                    : CU(cuCtxCreate_v4, turn.way(), &handle,
                                         static_cast<CUctxCreateParams*>(nullptr), 0U, device);
  turn.code(code);
  if (code != CUDA_SUCCESS) return;
  entered.push_back(handle);
  context = {.handle = handle, .alive = true, .primary = false, .device = device, .attached = 1};
}

// context_end c1 [old]
void context_end(Turn& turn) {
  const Context& context = context_of(turn, 0);
  if (context.handle == nullptr) return turn.skip("no context");
  if (!context.alive) return turn.skip("ended");
  if (!settle_context(turn.world, static_cast<int>(turn.index(0)))) return turn.skip("busy");
  const CUresult code = turn.has(1) ? CU(cuCtxDestroy, turn.way(), context.handle)
                                    : CU(cuCtxDestroy_v2, turn.way(), context.handle);
  turn.code(code);
  if (code != CUDA_SUCCESS) return;
  ended_here(context.handle);
  turn.world.end_context(static_cast<int>(turn.index(0)));
}

void set_current(Turn& turn, CUcontext context) {
  const CUresult code = CU(cuCtxSetCurrent, turn.way(), context);
  turn.code(code);
  if (code == CUDA_SUCCESS) made_current(context);
}

// use c1|none
void use(Turn& turn) {
  if (turn.word(0) == "none") return set_current(turn, nullptr);
  const Context& context = context_of(turn, 0);
  if (!context.alive) return turn.skip("no context");
  set_current(turn, context.handle);
}

// push c1
void push(Turn& turn) {
  const Context& context = context_of(turn, 0);
  if (!context.alive) return turn.skip("no context");
  const CUresult code = CU(cuCtxPushCurrent_v2, turn.way(), context.handle);
  turn.code(code);
  if (code == CUDA_SUCCESS) entered.push_back(context.handle);
}

// pop
void pop(Turn& turn) {
  CUcontext handle = nullptr;
  if (!may_pop(turn.world)) return turn.skip("ended");
  const CUresult code = CU(cuCtxPopCurrent_v2, turn.way(), &handle);
  turn.code(code);
  if (code == CUDA_SUCCESS && !entered.empty()) entered.pop_back();
  const int known = turn.world.find_context(handle);
  turn.say(known == kNone ? "unknown" : "c" + std::to_string(known));
}

// current
void current(Turn& turn) {
  const int known = turn.world.find_context(current_context());
  turn.say(known == kNone ? "unknown" : "c" + std::to_string(known));
}

// attach c1: the current context, whatever its name
void attach(Turn& turn) {
  CUcontext handle = nullptr;
  const CUresult code = CU(cuCtxAttach, turn.way(), &handle, 0U);
  turn.code(code);
  const int known = turn.world.find_context(handle);
  if (code == CUDA_SUCCESS && known != kNone) {
    ++turn.world.contexts[static_cast<std::size_t>(known)].attached;
  }
}

// detach c1
void detach(Turn& turn) {
  Context& context = context_of(turn, 0);
  if (!context.alive) return turn.skip("no context");
  if (current_context() != context.handle) return turn.skip("not current");
  if (!settle_context(turn.world, static_cast<int>(turn.index(0)))) return turn.skip("busy");
  const CUresult code = CU(cuCtxDetach, turn.way(), context.handle);
  turn.code(code);
  if (code == CUDA_SUCCESS && --context.attached == 0) {
    if (!context.primary) ended_here(context.handle);
    turn.world.end_context(static_cast<int>(turn.index(0)));
  }
}

// peer c1: the current context may use its device's memory
void peer(Turn& turn) {
  const Context& context = context_of(turn, 0);
  if (!context.alive) return turn.skip("no context");
  const CUresult code = CU(cuCtxEnablePeerAccess, turn.way(), context.handle, 0U);
  turn.code(code);
  const int own = turn.world.find_context(current_context());
  if (code != CUDA_SUCCESS || own == kNone) return;
  turn.world.contexts[static_cast<std::size_t>(own)].peers |= 1U << context.device;
}

}  // namespace

void add_context_verbs(Verbs& verbs) {
  verbs["init"] = init;
  verbs["primary"] = primary;
  verbs["release"] = release;
  verbs["reset"] = reset;
  verbs["context"] = context;
  verbs["context_end"] = context_end;
  verbs["use"] = use;
  verbs["push"] = push;
  verbs["pop"] = pop;
  verbs["current"] = current;
  verbs["attach"] = attach;
  verbs["detach"] = detach;
  verbs["peer"] = peer;
}

}  // namespace vramscope::differential
