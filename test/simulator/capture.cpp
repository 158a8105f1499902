// Stream capture: what is recorded, what it forbids, and who is in it.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "test/simulator/driver.h"
#include "test/simulator/streams.h"

namespace vramscope::simulator {

namespace {

std::mutex capture_mutex;  // guards every Capture, CUstream_st::capture and the list
std::vector<std::shared_ptr<Capture>> ongoing;

CUstreamCaptureMode& mode_of_this_thread() {
  thread_local CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  return mode;
}

// cuda.h, cuThreadExchangeStreamCaptureMode: which captures stop this thread's unsafe calls.
bool forbids(const Capture& capture, CUstreamCaptureMode thread_mode) {
  if (thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED) return false;
  if (capture.thread == std::this_thread::get_id()) {
    return capture.mode != CU_STREAM_CAPTURE_MODE_RELAXED;
  }
  return thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
         capture.mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
}

// The captures that work on this stream would have to be ordered with, if it is the legacy one.
std::vector<std::shared_ptr<Capture>> implied_by(const CUstream_st& stream) {
  std::vector<std::shared_ptr<Capture>> implied;
  if (!stream.is_legacy) return implied;
  for (const auto& capture : ongoing) {
    const bool blocking = std::ranges::any_of(capture->members, [&](CUstream member) {
      return member->context == stream.context && member->flags != CU_STREAM_NON_BLOCKING;
    });
    if (blocking) implied.push_back(capture);
  }
  return implied;
}

void end(const std::shared_ptr<Capture>& capture) {
  for (CUstream member : capture->members) member->capture.reset();
  std::erase(ongoing, capture);
}

CUresult begin(CUstream handle, CUstreamCaptureMode mode) {
  const auto stream = resolve(handle);
  if (!stream) return CUDA_ERROR_INVALID_HANDLE;
  if (mode > CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
  if (stream->is_legacy) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  const std::lock_guard lock(capture_mutex);
  if (stream->capture) return CUDA_ERROR_ILLEGAL_STATE;
  auto capture = std::make_shared<Capture>();
  capture->id = driver().next_id++;
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->origin = stream.get();
  capture->members.insert(stream.get());
  stream->capture = capture;
  ongoing.push_back(std::move(capture));
  return CUDA_SUCCESS;
}

CUstreamCaptureStatus status_of(const std::shared_ptr<Capture>& capture) {
  if (!capture) return CU_STREAM_CAPTURE_STATUS_NONE;
  return capture->invalidated ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                              : CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

CUresult describe(CUstream handle, CUstreamCaptureStatus* status, cuuint64_t* id) {
  if (status == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto stream = resolve(handle);
  if (!stream) return CUDA_ERROR_INVALID_HANDLE;
  const std::lock_guard lock(capture_mutex);
  // Asking does not invalidate (cuda.h, cuStreamIsCapturing).
  if (!implied_by(*stream).empty()) return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  *status = status_of(stream->capture);
  if (id != nullptr && *status == CU_STREAM_CAPTURE_STATUS_ACTIVE) *id = stream->capture->id;
  return CUDA_SUCCESS;
}

}  // namespace

CUresult submit(CUstream_st& stream, Engine::Work work, Point* reached) {
  if (const CUresult refusal = refuse_implicit(stream); refusal != CUDA_SUCCESS) return refusal;
  {
    const std::lock_guard lock(capture_mutex);
    if (Capture* capture = stream.capture.get(); capture != nullptr) {
      if (capture->invalidated) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
      capture->recording.push_back(std::move(work));
      if (capture->origin != &stream) capture->unjoined.insert(&stream);
      return CUDA_SUCCESS;
    }
  }
  const Point point = stream.context->streams.submit(stream, std::move(work));
  if (reached != nullptr) *reached = point;
  return CUDA_SUCCESS;
}

CUresult refuse_in_capture() {
  const CUstreamCaptureMode mode = mode_of_this_thread();
  const std::lock_guard lock(capture_mutex);
  bool refused = false;
  for (const auto& capture : ongoing) {
    if (!forbids(*capture, mode)) continue;
    capture->invalidated = true;
    refused = true;
  }
  return refused ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}

CUresult refuse_while_capturing(CUstream_st& stream) {
  const std::lock_guard lock(capture_mutex);
  if (!stream.capture) return CUDA_SUCCESS;
  stream.capture->invalidated = true;
  return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

CUresult refuse_implicit(CUstream_st& stream) {
  const std::lock_guard lock(capture_mutex);
  const auto captures = implied_by(stream);
  for (const auto& capture : captures) capture->invalidated = true;
  return captures.empty() ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
}

std::shared_ptr<Capture> capture_of(CUstream_st& stream) {
  const std::lock_guard lock(capture_mutex);
  return stream.capture;
}

CUresult join_capture(CUstream_st& stream, const std::shared_ptr<Capture>& capture, CUstream from) {
  const std::lock_guard lock(capture_mutex);
  if (stream.is_legacy) {
    capture->invalidated = true;
    return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  }
  if (std::ranges::find(ongoing, capture) == ongoing.end()) return CUDA_ERROR_CAPTURED_EVENT;
  if (capture->invalidated) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (stream.capture && stream.capture != capture) {
    stream.capture->invalidated = true;
    capture->invalidated = true;
    return CUDA_ERROR_STREAM_CAPTURE_MERGE;
  }
  if (from != &stream) capture->unjoined.erase(from);
  if (stream.capture) return CUDA_SUCCESS;
  stream.capture = capture;
  capture->members.insert(&stream);
  capture->unjoined.insert(&stream);
  return CUDA_SUCCESS;
}

void leave_capture(CUstream_st& stream) {
  const std::lock_guard lock(capture_mutex);
  const auto capture = stream.capture;
  if (!capture) return;
  capture->invalidated = true;
  if (capture->origin == &stream) return end(capture);
  stream.capture.reset();
  capture->members.erase(&stream);
  capture->unjoined.erase(&stream);
}

void forget_captures_of(CUcontext context) {
  const std::lock_guard lock(capture_mutex);
  const auto captures = ongoing;
  for (const auto& capture : captures) {
    if (capture->origin->context == context) end(capture);
  }
}

namespace body {

CUresult cuStreamBeginCapture(CUstream stream) {
  return begin(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode) {
  return begin(stream, mode);
}

CUresult cuStreamEndCapture(CUstream handle, CUgraph* graph) {
  if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto stream = resolve(handle);
  if (!stream) return CUDA_ERROR_INVALID_HANDLE;
  const std::lock_guard lock(capture_mutex);
  const auto capture = stream->capture;
  if (!capture || stream->is_legacy) return CUDA_ERROR_ILLEGAL_STATE;
  const bool any_thread = capture->mode == CU_STREAM_CAPTURE_MODE_RELAXED;
  if (!any_thread && capture->thread != std::this_thread::get_id()) {
    return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
  }
  *graph = nullptr;
  if (capture->origin != stream.get()) {
    capture->invalidated = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
  }
  end(capture);
  if (capture->invalidated) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (!capture->unjoined.empty()) return CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
  *graph = graphs().add(std::make_shared<CUgraph_st>(CUgraph_st{std::move(capture->recording)}));
  return CUDA_SUCCESS;
}

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  return describe(stream, status, nullptr);
}

CUresult cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id) {
  return describe(stream, status, id);
}

// The graph behind an ongoing capture and its nodes cannot be looked at here.
CUresult cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id,
                                   CUgraph* graph, const CUgraphNode** dependencies,
                                   size_t* count) {
  if (graph != nullptr) *graph = nullptr;
  if (dependencies != nullptr) *dependencies = nullptr;
  if (count != nullptr) *count = 0;
  return describe(stream, status, id);
}

CUresult cuStreamGetCaptureInfo_v3(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id,
                                   CUgraph* graph, const CUgraphNode** dependencies,
                                   const CUgraphEdgeData** edges, size_t* count) {
  if (edges != nullptr) *edges = nullptr;
  return body::cuStreamGetCaptureInfo_v2(stream, status, id, graph, dependencies, count);
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  if (mode == nullptr || *mode > CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
  std::swap(*mode, mode_of_this_thread());
  return CUDA_SUCCESS;
}

}  // namespace body

}  // namespace vramscope::simulator
