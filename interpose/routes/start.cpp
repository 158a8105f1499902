// Start-up, lookup, and the life of contexts and captures: what the driver does, noted.
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <cstdio>
#include <string_view>

#include "allocator/ground/fault.h"
#include "interpose/driver/context_end.h"
#include "interpose/life/start.h"
#include "interpose/loader/lookup.h"
#include "interpose/loader/real.h"
#include "interpose/routes/routes.h"
#include "interpose/settings/startup.h"
#include "reporter/record/stream_table.h"

namespace vramscope::routes {

namespace {

// The driver's answer for the very version of a row.
void* answer_for(const FunctionRow& row, cuuint64_t flags) {
  void* known = nullptr;
  if (real().cuGetProcAddress_v2 != nullptr) {
    CUdriverProcAddressQueryResult status{};
    real().cuGetProcAddress_v2(row.asked_as, &known, row.since, flags, &status);
  } else if (real().cuGetProcAddress != nullptr) {
    real().cuGetProcAddress(row.asked_as, &known, row.since, flags);
  }
  return known;
}

// From CUDA 12 on the header means another function by this name, with other parameters; whether
// the driver does too its answers tell.
constexpr std::string_view kAmbiguousName = "cuGraphInstantiate";
constexpr Function kItsOtherMeaning = Function::cuGraphInstantiateWithFlags;

// The row whose parameters the driver's answer `found` has; null: one that we do not know. Up to
// the toolkit that the table was compared with, the version tells; for a younger version the
// parameters may have changed, and then the driver gives another function than for the row's.
const FunctionRow* row_of(const FunctionRow& newest, int version, cuuint64_t flags,
                          const void* found) {
  const bool is_ambiguous = newest.asked_as == kAmbiguousName;
  if (version <= CUDA_VERSION && !is_ambiguous) return &newest;
  if (answer_for(newest, flags) == found) return &newest;
  if (is_ambiguous && answer_for(row(kItsOtherMeaning), flags) == found) {
    return &row(kItsOtherMeaning);
  }
  return nullptr;
}

// Rows of which the program got a younger function, by index.
constinit std::atomic<bool> younger[kFunctionCount]{};

void warn_of_younger() {
  Profiler* profiler = Profiler::active();
  for (std::size_t i = 0; profiler != nullptr && i < kFunctionCount; ++i) {
    if (!younger[i].load(std::memory_order_relaxed)) continue;
    char text[160];
    std::snprintf(text, sizeof text,
                  "the program uses a %s that is younger than this build of Vramscope; its calls "
                  "are not recorded",
                  kFunctions[i].asked_as);
    profiler->recorder().warn(text);  // each text once
  }
}

}  // namespace

CUresult cuInit(Call&, const DirectCall& direct, unsigned int) noexcept {
  const CUresult code = direct();
  if (code != CUDA_SUCCESS) return code;
  start_profiler();
  warn_of_younger();  // lookups come first
  return code;
}

// The driver answers first, with its own code and status; only what it found is replaced.
CUresult cuGetProcAddress(Call&, const DirectCall& direct, const char* symbol, void** pfn,
                          int version, cuuint64_t flags) noexcept {
  const CUresult code = direct();
  const bool found = code == CUDA_SUCCESS && pfn != nullptr && *pfn != nullptr;
  if (!found || switched_off()) return code;
  const bool per_thread = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
  if (per_thread && fault(Fault::missed_flavour)) return code;
  const FunctionRow* newest = newest_row(symbol, version, per_thread);
  if (newest == nullptr) return code;
  if (const FunctionRow* known = row_of(*newest, version, flags, *pfn)) {
    *pfn = wrapper_of(*known);
  } else {
    younger[newest - kFunctions].store(true, std::memory_order_relaxed);
    warn_of_younger();
  }
  return code;
}

CUresult cuGetProcAddress_v2(Call& call, const DirectCall& direct, const char* symbol, void** pfn,
                             int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult*) noexcept {
  return cuGetProcAddress(call, direct, symbol, pfn, version, flags);
}

namespace {

// The driver's own free of what ends now with `context` has waited for whoever used it, in any
// context; with at-reuse nobody has yet. A thread without a context is in this one meanwhile.
void finish_frees(Profiler& profiler, CUcontext context) {
  Place place;
  if (!profiler.waits_at_reuse() || !profiler.contexts().find(context, place)) return;
  CUcontext current = nullptr;
  real().cuCtxGetCurrent(&current);
  const bool pushed = current == nullptr && real().cuCtxPushCurrent_v2(context) == CUDA_SUCCESS;
  static_cast<void>(profiler.backend().wait(in_context(Kind::pinned, place.device, place.context)));
  if (pushed) real().cuCtxPopCurrent_v2(&current);
}

CUresult destroy_context(Call& call, const DirectCall& direct, CUcontext context) {
  finish_frees(call.profiler(), context);
  const ContextEnd end(call.profiler(), context);
  const CUresult code = direct();
  if (code == CUDA_SUCCESS) end.happened();
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
  finish_frees(call.profiler(), context);
  const ContextEnd end(call.profiler(), context);
  const CUresult code = direct();
  if (code == CUDA_SUCCESS && context != nullptr && primary_context(device) == nullptr) {
    end.happened();
  }
  return code;
}

enum class Into : bool { new_graph, given_graph };

CUresult begin_capture(Call& call, const DirectCall& direct, CUstream stream, bool per_thread,
                       Into into = Into::new_graph) {
  const CUresult code = direct();
  if (code != CUDA_SUCCESS) return code;
  CUgraph own = nullptr;
  if (into == Into::new_graph) own = Captures::graph_of(stream, per_thread);
  call.profiler().captures().began(Captures::key(stream, per_thread), own);
  return code;
}

// Whether a capture goes on after an answer to its end: an invalidated one does not.
bool goes_on(CUresult code) {
  switch (code) {
    case CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD:
    case CUDA_ERROR_INVALID_VALUE:
    case CUDA_ERROR_INVALID_CONTEXT:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
      return true;
    default:
      return false;
  }
}

// The graph of a capture that may fail: the driver destroys it then.
class OwnGraph {
 public:
  OwnGraph(Profiler& profiler, const Captures::Key& key)
      : memory_(profiler.graph_memory()), graph_(profiler.captures().graph_of(key)) {
    if (graph_ != nullptr) number_ = memory_.number_of(graph_);
  }
  void failed() const {
    if (number_ != GraphMemory::none) memory_.ended(graph_, number_);
  }

 private:
  GraphMemory& memory_;
  CUgraph graph_;
  GraphMemory::Number number_ = GraphMemory::none;
};

CUresult end_capture(Call& call, const DirectCall& direct, CUstream stream, CUgraph* graph,
                     bool per_thread) {
  const Captures::Key key = Captures::key(stream, per_thread);
  const OwnGraph own(call.profiler(), key);
  const CUresult code = direct();
  if (code == CUDA_SUCCESS && graph != nullptr) call.profiler().graphs().began(*graph);
  if (goes_on(code)) return code;
  call.profiler().captures().ended(key);
  if (code != CUDA_SUCCESS) own.failed();
  return code;
}

CUresult destroy_stream(Call& call, const DirectCall& direct, CUstream stream) {
  const Captures::Key key = Captures::key(stream, false);
  const OwnGraph own(call.profiler(), key);
  const CUresult code = direct();
  if (code != CUDA_SUCCESS) return code;
  call.profiler().captures().ended(key);
  call.profiler().recorder().streams().forget(to_address(stream));
  own.failed();
  return code;
}

}  // namespace

CUresult cuCtxDestroy(Call& call, const DirectCall& direct, CUcontext ctx) noexcept {
  return destroy_context(call, direct, ctx);
}
CUresult cuCtxDestroy_v2(Call& call, const DirectCall& direct, CUcontext ctx) noexcept {
  return destroy_context(call, direct, ctx);
}

// Its creator and each cuCtxAttach hold a context; the last cuCtxDetach destroys it.
CUresult cuCtxAttach(Call& call, const DirectCall& direct, CUcontext* pctx, unsigned int) noexcept {
  const CUresult code = direct();
  if (code == CUDA_SUCCESS && pctx != nullptr) call.profiler().contexts().attached(*pctx);
  return code;
}
CUresult cuCtxDetach(Call& call, const DirectCall& direct, CUcontext ctx) noexcept {
  CUdevice device = 0;
  const bool is_primary = ctx != nullptr && real().cuCtxGetDevice(&device) == CUDA_SUCCESS &&
                          primary_context(device) == ctx;
  finish_frees(call.profiler(), ctx);
  const ContextEnd end(call.profiler(), ctx);
  const CUresult code = direct();
  if (code != CUDA_SUCCESS) return code;
  bool is_held = call.profiler().contexts().detached(ctx);
  if (is_primary)
    is_held = primary_context(device) != nullptr;  // those who retained it hold it too
  if (!is_held) end.happened();
  return code;
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
  finish_frees(call.profiler(), context);
  const ContextEnd end(call.profiler(), context);
  const CUresult code = direct();
  if (code == CUDA_SUCCESS && context != nullptr) end.happened();
  return code;
}

#if CUDA_VERSION >= 12040
// Memory made under a green context is its primary context's, and outlives it.
CUresult cuCtxFromGreenCtx(Call& call, const DirectCall& direct, CUcontext* pContext,
                           CUgreenCtx hCtx) noexcept {
  const CUresult code = direct();
  if (code != CUDA_SUCCESS || pContext == nullptr) return code;
  CUdevice device = 0;
  const Within within(*pContext);
  if (within.code() != CUDA_SUCCESS || real().cuCtxGetDevice(&device) != CUDA_SUCCESS) return code;
  if (const CUcontext primary = primary_context(device); primary != nullptr) {
    call.profiler().contexts().add_view(hCtx, *pContext, primary);
  }
  return code;
}
CUresult cuGreenCtxDestroy(Call& call, const DirectCall& direct, CUgreenCtx hCtx) noexcept {
  const CUresult code = direct();
  if (code == CUDA_SUCCESS) call.profiler().contexts().remove_views(hCtx);
  return code;
}
#endif

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
#if CUDA_VERSION >= 12030
CUresult cuStreamBeginCaptureToGraph(Call& call, const DirectCall& direct, CUstream stream, CUgraph,
                                     const CUgraphNode*, const CUgraphEdgeData*, std::size_t,
                                     CUstreamCaptureMode) noexcept {
  return begin_capture(call, direct, stream, false, Into::given_graph);
}
CUresult cuStreamBeginCaptureToGraph_ptsz(Call& call, const DirectCall& direct, CUstream stream,
                                          CUgraph, const CUgraphNode*, const CUgraphEdgeData*,
                                          std::size_t, CUstreamCaptureMode) noexcept {
  return begin_capture(call, direct, stream, true, Into::given_graph);
}
#endif
CUresult cuStreamEndCapture(Call& call, const DirectCall& direct, CUstream stream,
                            CUgraph* graph) noexcept {
  return end_capture(call, direct, stream, graph, false);
}
CUresult cuStreamEndCapture_ptsz(Call& call, const DirectCall& direct, CUstream stream,
                                 CUgraph* graph) noexcept {
  return end_capture(call, direct, stream, graph, true);
}

}  // namespace vramscope::routes
