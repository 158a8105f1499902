// Start-up, lookup, and the life of contexts and captures: what the driver does, noted.
// SPDX-License-Identifier: Apache-2.0
#include "interpose/lookup.h"
#include "interpose/real.h"
#include "interpose/routes.h"

namespace vramscope::routes {

CUresult cuInit(Call&, const DirectCall& direct, unsigned int) noexcept {
  const CUresult code = direct();
  if (code == CUDA_SUCCESS) Profiler::start();
  return code;
}

// The driver answers first, with its own code and status; only what it found is replaced.
CUresult cuGetProcAddress(Call&, const DirectCall& direct, const char* symbol, void** pfn,
                          int version, cuuint64_t flags) noexcept {
  const CUresult code = direct();
  const bool found = code == CUDA_SUCCESS && pfn != nullptr && *pfn != nullptr;
  if (found && !switched_off()) *pfn = wrapper_for(symbol, version, flags, *pfn);
  return code;
}

CUresult cuGetProcAddress_v2(Call& call, const DirectCall& direct, const char* symbol, void** pfn,
                             int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult*) noexcept {
  return cuGetProcAddress(call, direct, symbol, pfn, version, flags);
}

namespace {

// What ends with its context. Stream-ordered memory does not: its pool belongs to the device.
constexpr Kind kKindsOfContext[] = {Kind::device, Kind::managed, Kind::registered};

// Everything of `context` is gone: nothing of it is given back to the driver.
void forget_context(Profiler& profiler, CUcontext context) {
  profiler.captures().context_ended(context);
  profiler.contexts().ended(context, [&](Place place) {
    for (const Kind kind : kKindsOfContext) {
      profiler.allocator().forget_place(in_context(kind, place.device, place.context));
    }
    const Place pinned = in_context(Kind::pinned, place.device, place.context);
    for (unsigned flags = 0; flags <= kHostFlags; ++flags) {
      profiler.allocator().forget_place(with_host_flags(pinned, flags));
    }
  });
}

CUresult destroy_context(Call& call, const DirectCall& direct, CUcontext context) {
  const CUresult code = direct();
  if (code == CUDA_SUCCESS) forget_context(call.profiler(), context);
  return code;
}

// The handle of a device's primary context, null when it is not active: it is never created here.
CUcontext primary_context(CUdevice device) {
  unsigned int flags = 0;
  int active = 0;
  CUcontext context = nullptr;
  const Real& driver = real();
  if (driver.cuDevicePrimaryCtxGetState(device, &flags, &active) != CUDA_SUCCESS || active == 0 ||
      driver.cuDevicePrimaryCtxRetain(&context, device) != CUDA_SUCCESS) {
    return nullptr;
  }
  driver.cuDevicePrimaryCtxRelease_v2(device);
  return context;
}

CUresult end_primary_context(Call& call, const DirectCall& direct, CUdevice device) {
  const CUcontext context = primary_context(device);
  const CUresult code = direct();
  if (code == CUDA_SUCCESS && context != nullptr && primary_context(device) == nullptr) {
    forget_context(call.profiler(), context);
  }
  return code;
}

CUresult begin_capture(Call& call, const DirectCall& direct, CUstream stream, bool per_thread) {
  const CUresult code = direct();
  if (code == CUDA_SUCCESS) call.profiler().captures().began(Captures::key(stream, per_thread));
  return code;
}

// Also after a failure: an invalidated capture has ended.
CUresult end_capture(Call& call, const DirectCall& direct, CUstream stream, CUgraph* graph,
                     bool per_thread) {
  const Captures::Key key = Captures::key(stream, per_thread);
  const CUresult code = direct();
  if (code == CUDA_SUCCESS && graph != nullptr) call.profiler().graphs().began(*graph);
  call.profiler().captures().ended(key);
  return code;
}

CUresult destroy_stream(Call& call, const DirectCall& direct, CUstream stream) {
  const Captures::Key key = Captures::key(stream, false);
  const CUresult code = direct();
  if (code == CUDA_SUCCESS) call.profiler().captures().ended(key);
  return code;
}

}  // namespace

CUresult cuCtxDestroy(Call& call, const DirectCall& direct, CUcontext ctx) noexcept {
  return destroy_context(call, direct, ctx);
}
CUresult cuCtxDestroy_v2(Call& call, const DirectCall& direct, CUcontext ctx) noexcept {
  return destroy_context(call, direct, ctx);
}

CUresult cuDevicePrimaryCtxRelease(Call& call, const DirectCall& direct, CUdevice dev) noexcept {
  return end_primary_context(call, direct, dev);
}
CUresult cuDevicePrimaryCtxRelease_v2(Call& call, const DirectCall& direct, CUdevice dev) noexcept {
  return end_primary_context(call, direct, dev);
}

// A reset ends the context whether or not somebody still holds it.
CUresult cuDevicePrimaryCtxReset(Call& call, const DirectCall& direct, CUdevice dev) noexcept {
  return cuDevicePrimaryCtxReset_v2(call, direct, dev);
}
CUresult cuDevicePrimaryCtxReset_v2(Call& call, const DirectCall& direct, CUdevice dev) noexcept {
  const CUcontext context = primary_context(dev);
  const CUresult code = direct();
  if (code == CUDA_SUCCESS && context != nullptr) forget_context(call.profiler(), context);
  return code;
}

CUresult cuStreamDestroy(Call& call, const DirectCall& direct, CUstream stream) noexcept {
  return destroy_stream(call, direct, stream);
}
CUresult cuStreamDestroy_v2(Call& call, const DirectCall& direct, CUstream stream) noexcept {
  return destroy_stream(call, direct, stream);
}

CUresult cuStreamBeginCapture(Call& call, const DirectCall& direct, CUstream stream) noexcept {
  return begin_capture(call, direct, stream, false);
}
CUresult cuStreamBeginCapture_ptsz(Call& call, const DirectCall& direct, CUstream stream) noexcept {
  return begin_capture(call, direct, stream, true);
}
CUresult cuStreamBeginCapture_v2(Call& call, const DirectCall& direct, CUstream stream,
                                 CUstreamCaptureMode) noexcept {
  return begin_capture(call, direct, stream, false);
}
CUresult cuStreamBeginCapture_v2_ptsz(Call& call, const DirectCall& direct, CUstream stream,
                                      CUstreamCaptureMode) noexcept {
  return begin_capture(call, direct, stream, true);
}
CUresult cuStreamEndCapture(Call& call, const DirectCall& direct, CUstream stream,
                            CUgraph* graph) noexcept {
  return end_capture(call, direct, stream, graph, false);
}
CUresult cuStreamEndCapture_ptsz(Call& call, const DirectCall& direct, CUstream stream,
                                 CUgraph* graph) noexcept {
  return end_capture(call, direct, stream, graph, true);
}

}  // namespace vramscope::routes
