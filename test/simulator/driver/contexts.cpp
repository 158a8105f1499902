// Contexts: the stack of each thread, creation and end, the primary context of each device.
// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstdio>
#include <cstdlib>

#include "test/simulator/driver/driver.h"

namespace vramscope::simulator {

namespace {

// Without a destructor: the main thread's exit handlers, which run after its thread-local objects
// are gone, still have a current context. The few that are usual lie in the thread's own memory, of
// which a small thread has little; of the others nobody takes the room back.
class Stack {
 public:
  [[nodiscard]] bool empty() const { return depth_ == 0; }
  [[nodiscard]] bool full() const { return depth_ == kMost; }
  [[nodiscard]] CUcontext& back() { return at(depth_ - 1); }
  void push_back(CUcontext context) {
    if (depth_ == few_.size() && others_ == nullptr) others_ = new CUcontext[kMost];
    at(depth_++) = context;
  }
  void pop_back() { --depth_; }
  [[nodiscard]] bool contains(CUcontext context) {
    for (std::size_t i = 0; i < depth_; ++i) {
      if (at(i) == context) return true;
    }
    return false;
  }

 private:
  static constexpr std::size_t kMost = 1024;
  [[nodiscard]] CUcontext& at(std::size_t i) { return i < few_.size() ? few_[i] : others_[i]; }

  std::array<CUcontext, 16> few_{};
  CUcontext* others_ = nullptr;
  std::size_t depth_ = 0;
};

Stack& stack() {
  constinit thread_local Stack contexts;
  return contexts;
}

// Flags that cuCtxCreate and the primary context take (cuda.h, CUctx_flags).
bool good_flags(unsigned flags) {
  return (flags & ~unsigned{CU_CTX_FLAGS_MASK}) == 0 &&
         (flags & CU_CTX_SCHED_MASK) != (CU_CTX_SCHED_SPIN | CU_CTX_SCHED_YIELD);
}

bool known(CUcontext context) {
  const std::lock_guard lock(driver().mutex);
  return driver().contexts.contains(context);
}

CUresult create(CUcontext* context, unsigned flags, CUdevice ordinal) {
  if (context == nullptr || !good_flags(flags)) return CUDA_ERROR_INVALID_VALUE;
  if (driver().device(ordinal) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (stack().full()) return CUDA_ERROR_OUT_OF_MEMORY;
  const std::uint64_t kept = driver().configuration.context_bytes;
  if (!driver().device(ordinal)->accounts.keep(kept)) return CUDA_ERROR_OUT_OF_MEMORY;
  auto* made = new CUctx_st(ordinal, false, flags, driver().next_id++);
  made->retains = 1;
  made->kept = kept;
  {
    const std::lock_guard lock(driver().mutex);
    driver().contexts.insert(made);
  }
  stack().push_back(made);
  *context = made;
  return CUDA_SUCCESS;
}

// Finishes the context's work, then ends everything that lives in it.
void end(CUcontext context) {
  context->ending = true;
  for (const Point& tail : context->streams.all_tails()) tail.wait();
  context->alive = false;
  context->ending = false;
  forget_captures_of(context);
  streams().remove_if([context](const CUstream_st& s) { return s.context == context; });
  events().remove_if([context](const CUevent_st& e) { return e.context == context; });
  context->streams.close_all();
  end_arrays_of(context);
  end_peers_of(context);
  for (const Allocation& allocation : driver().memory.take_all_of(context)) {
    driver().give_back(allocation);
  }
  driver().device_of(context).accounts.keep_less(context->kept.exchange(0));
  const Granules::Owner owner = owner_of_chunks(context);
  if (owner != kDeviceItself) driver().device_of(context).accounts.end_owner(owner);
}

// A primary context's handle stays good after its reset; that of another one is memory of the
// driver's that is gone. An H200 with driver 580.159.04 crashes where a thread pops a destroyed
// context which it had pushed when that was destroyed already; one that it had before, it pops, and
// comes back to. To enter a context while another thread destroys it is undefined (openucx/ucx
// #10852, #10143): here it crashes, too.
[[noreturn]] void crash(const char* what) {
  (void)std::fprintf(stderr, "libcuda.so.1: a context is %s\n", what);
  std::abort();
}

bool is_destroyed(CUcontext context) { return !context->primary && !context->alive; }

// The context whose memory and streams it uses: of a green context's view the primary one.
CUcontext memory_of(CUcontext context) {
  return context->base != nullptr ? context->base : context;
}

// The last context that this thread pushed when it was destroyed already.
constinit thread_local CUcontext pushed_late = nullptr;

void refuse_to_enter(CUcontext context) {
  if (context->primary) return;
  if (context->ending) crash("entered while another thread destroys it");
}

}  // namespace

CUresult check_context(CUcontext context) {
  if (!known(context)) return CUDA_ERROR_INVALID_CONTEXT;
  const bool is_alive = context->alive && memory_of(context)->alive;
  return is_alive ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

CUcontext view_of(CUcontext primary) {
  auto* const made = new CUctx_st(primary->device, false, primary->flags, driver().next_id++);
  made->base = primary;
  const std::lock_guard lock(driver().mutex);
  driver().contexts.insert(made);
  return made;
}

bool keep_for(CUcontext context, std::uint64_t bytes) {
  if (!driver().device_of(context).accounts.keep(bytes)) return false;
  context->kept += bytes;
  return true;
}

void keep_less_for(CUcontext context, std::uint64_t bytes) {
  driver().device_of(context).accounts.keep_less(bytes);
  context->kept -= bytes;
}

CUcontext current_context() {
  Stack& contexts = stack();
  return contexts.empty() ? nullptr : memory_of(contexts.back());
}

CUresult refuse_in_ended_context() {
  Stack& contexts = stack();
  const bool is_good =
      contexts.empty() || (contexts.back()->alive && memory_of(contexts.back())->alive);
  return is_good ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

namespace body {

// Of CUDA 2: an H200 with driver 580 makes none.
CUresult cuCtxCreate(CUcontext* /*context*/, unsigned /*flags*/, CUdevice /*device*/) {
  return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuCtxCreate_v2(CUcontext* context, unsigned flags, CUdevice device) {
  return create(context, flags, device);
}

CUresult cuCtxCreate_v3(CUcontext* context, CUexecAffinityParam* /*affinities*/, int count,
                        unsigned flags, CUdevice device) {
  return count == 0 ? create(context, flags, device) : CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
}

CUresult cuCtxCreate_v4(CUcontext* context, CUctxCreateParams* parameters, unsigned flags,
                        CUdevice device) {
  if (parameters != nullptr && parameters->numExecAffinityParams != 0) {
    return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
  }
  return create(context, flags, device);
}

CUresult cuCtxDestroy_v2(CUcontext context) {
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (const CUresult refusal = check_context(context); refusal != CUDA_SUCCESS) return refusal;
  if (context->primary || context->base != nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (current_context() == context) stack().pop_back();
  end(context);
  return CUDA_SUCCESS;
}

// A primary context counts these with its retains.
CUresult cuCtxAttach(CUcontext* context, unsigned flags) {
  if (context == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(driver().mutex);
  *context = current_context();
  ++(*context)->retains;
  return CUDA_SUCCESS;
}

CUresult cuCtxDetach(CUcontext context) {
  if (context == nullptr || context != current_context()) return CUDA_ERROR_INVALID_CONTEXT;
  if (context->primary) return body::cuDevicePrimaryCtxRelease_v2(context->device);
  {
    const std::lock_guard lock(driver().mutex);
    if (--context->retains != 0) return CUDA_SUCCESS;
  }
  return body::cuCtxDestroy_v2(context);
}

CUresult cuCtxDestroy(CUcontext context) { return body::cuCtxDestroy_v2(context); }

CUresult cuCtxPushCurrent_v2(CUcontext context) {
  if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!known(context)) return CUDA_ERROR_INVALID_CONTEXT;
  refuse_to_enter(context);
  if (stack().full()) return CUDA_ERROR_OUT_OF_MEMORY;
  if (is_destroyed(context) && !stack().contains(context)) pushed_late = context;
  stack().push_back(context);
  return CUDA_SUCCESS;
}

CUresult cuCtxPushCurrent(CUcontext context) { return body::cuCtxPushCurrent_v2(context); }

CUresult cuCtxPopCurrent_v2(CUcontext* context) {
  if (stack().empty()) return CUDA_ERROR_INVALID_CONTEXT;
  if (stack().back() == pushed_late) crash("popped that was pushed after its end");
  if (context != nullptr) *context = stack().back();
  stack().pop_back();
  return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent(CUcontext* context) { return body::cuCtxPopCurrent_v2(context); }

CUresult cuCtxSetCurrent(CUcontext context) {
  if (context != nullptr) {  // one that has ended may be made current: its use is refused
    if (!known(context)) return CUDA_ERROR_INVALID_CONTEXT;
    refuse_to_enter(context);
  }
  if (!stack().empty()) stack().pop_back();
  if (context != nullptr) stack().push_back(context);
  return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext* context) {
  if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *context = stack().empty() ? nullptr : stack().back();
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice ordinal) {
  if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Device* device = driver().device(ordinal);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  const std::lock_guard lock(driver().mutex);
  if (!device->primary.alive && !keep_for(&device->primary, driver().configuration.context_bytes)) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  ++device->primary.retains;
  device->primary.alive = true;
  *context = &device->primary;
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice ordinal) {
  Device* device = driver().device(ordinal);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  {
    const std::lock_guard lock(driver().mutex);
    if (device->primary.retains == 0) return CUDA_ERROR_INVALID_CONTEXT;
    if (--device->primary.retains != 0) return CUDA_SUCCESS;
  }
  end(&device->primary);
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease(CUdevice ordinal) {
  return body::cuDevicePrimaryCtxRelease_v2(ordinal);
}

// The handle keeps its value; retaining it again brings it back to life, empty.
CUresult cuDevicePrimaryCtxReset_v2(CUdevice ordinal) {
  Device* device = driver().device(ordinal);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (device->primary.alive) end(&device->primary);
  const std::lock_guard lock(driver().mutex);
  device->primary.retains = 0;
  device->primary.flags = 0;
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxReset(CUdevice ordinal) {
  return body::cuDevicePrimaryCtxReset_v2(ordinal);
}

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice ordinal, unsigned flags) {
  Device* device = driver().device(ordinal);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (!good_flags(flags)) return CUDA_ERROR_INVALID_VALUE;
  device->primary.flags = flags;
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxSetFlags(CUdevice ordinal, unsigned flags) {
  return body::cuDevicePrimaryCtxSetFlags_v2(ordinal, flags);
}

CUresult cuDevicePrimaryCtxGetState(CUdevice ordinal, unsigned* flags, int* active) {
  Device* device = driver().device(ordinal);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (flags == nullptr || active == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *flags = device->primary.flags;
  *active = device->primary.alive ? 1 : 0;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice_v2(CUdevice* device, CUcontext context) {
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (context == nullptr) context = current_context();
  if (const CUresult refusal = check_context(context); refusal != CUDA_SUCCESS) return refusal;
  *device = context->device;
  return CUDA_SUCCESS;
}

// Answers in a context that was destroyed, too (an H200 with driver 580).
CUresult cuCtxGetDevice(CUdevice* device) {
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUcontext context = current_context();
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  *device = context->device;
  return CUDA_SUCCESS;
}

CUresult cuCtxSynchronize_v2(CUcontext context) {
  if (context == nullptr) context = current_context();
  if (const CUresult refusal = check_context(context); refusal != CUDA_SUCCESS) return refusal;
  context = memory_of(context);
  if (const CUresult no = refuse_context_wait(context); no != CUDA_SUCCESS) return no;
  for (const Point& tail : context->streams.all_tails()) wait_for(tail);
  trim_pools();
  return check_device_of(context);
}

CUresult cuCtxSynchronize() { return body::cuCtxSynchronize_v2(nullptr); }

}  // namespace body

}  // namespace vramscope::simulator
