// Tracks the beginning and end of stream captures, and their graphs.
// SPDX-License-Identifier: Apache-2.0
#include "allocator/base/fault.h"
#include "interpose/routes/routes.h"
#include "reporter/record/stream_table.h"

namespace vramscope::routes {
namespace {

enum class Into : bool { new_graph, given_graph };

CUresult begin_capture(Call& call, const DirectCall& direct, CUstream stream, bool per_thread,
                       CUstreamCaptureMode mode, Into into = Into::new_graph) {
  Captures& captures = call.profiler().captures();
  const Captures::Key key = Captures::key(stream, per_thread);
  const bool is_late = fault(Fault::capture_noted_late);
  Captures::Number capture = is_late ? Captures::none : captures.begins(key, mode);
  const CUresult code = direct();
  if (is_late) capture = captures.begins(key, mode);
  if (code != CUDA_SUCCESS) return captures.ended(capture), code;
  CUgraph own = nullptr;
  if (into == Into::new_graph) own = Captures::graph_of(stream, per_thread);
  captures.began(capture, own);
  return code;
}

// Whether a capture continues after this answer to its end. An invalidated one does not.
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

// The graph of a capture, which the driver destroys if the capture fails.
class OwnGraph {
 public:
  OwnGraph(Profiler& profiler, Captures::Number capture)
      : memory_(profiler.graph_memory()), graph_(profiler.captures().graph_of(capture)) {
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
  Captures& captures = call.profiler().captures();
  const Captures::Number capture = captures.find(Captures::key(stream, per_thread));
  const OwnGraph own(call.profiler(), capture);
  const CUresult code = direct();
  if (code == CUDA_SUCCESS && graph != nullptr) call.profiler().graphs().began(*graph);
  if (goes_on(code)) return code;
  captures.ended(capture);
  if (code != CUDA_SUCCESS) own.failed();
  return code;
}

CUresult destroy_stream(Call& call, const DirectCall& direct, CUstream stream) {
  Captures& captures = call.profiler().captures();
  const Captures::Number capture = captures.find(Captures::key(stream, false));
  const OwnGraph own(call.profiler(), capture);
  const CUresult code = direct();
  if (code != CUDA_SUCCESS) return code;
  captures.ended(capture);
  call.profiler().recorder().streams().forget(to_address(stream));
  own.failed();
  return code;
}

}  // namespace

CUresult cuStreamDestroy(Call& call, const DirectCall& direct, CUstream stream) noexcept {
  return destroy_stream(call, direct, stream);
}
CUresult cuStreamDestroy_v2(Call& call, const DirectCall& direct, CUstream stream) noexcept {
  return destroy_stream(call, direct, stream);
}

CUresult cuStreamBeginCapture(Call& call, const DirectCall& direct, CUstream stream) noexcept {
  return begin_capture(call, direct, stream, false, CU_STREAM_CAPTURE_MODE_GLOBAL);
}
CUresult cuStreamBeginCapture_ptsz(Call& call, const DirectCall& direct, CUstream stream) noexcept {
  return begin_capture(call, direct, stream, true, CU_STREAM_CAPTURE_MODE_GLOBAL);
}
CUresult cuStreamBeginCapture_v2(Call& call, const DirectCall& direct, CUstream stream,
                                 CUstreamCaptureMode mode) noexcept {
  return begin_capture(call, direct, stream, false, mode);
}
CUresult cuStreamBeginCapture_v2_ptsz(Call& call, const DirectCall& direct, CUstream stream,
                                      CUstreamCaptureMode mode) noexcept {
  return begin_capture(call, direct, stream, true, mode);
}
#if CUDA_VERSION >= 12030
CUresult cuStreamBeginCaptureToGraph(Call& call, const DirectCall& direct, CUstream stream, CUgraph,
                                     const CUgraphNode*, const CUgraphEdgeData*, std::size_t,
                                     CUstreamCaptureMode mode) noexcept {
  return begin_capture(call, direct, stream, false, mode, Into::given_graph);
}
CUresult cuStreamBeginCaptureToGraph_ptsz(Call& call, const DirectCall& direct, CUstream stream,
                                          CUgraph, const CUgraphNode*, const CUgraphEdgeData*,
                                          std::size_t, CUstreamCaptureMode mode) noexcept {
  return begin_capture(call, direct, stream, true, mode, Into::given_graph);
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
